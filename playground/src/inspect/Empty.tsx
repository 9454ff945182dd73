/** Before the first question: what this page does, and questions that the demo can answer. */
export function Empty({ disabled, onAsk }: { disabled: boolean; onAsk: (question: string) => void }) {
  const example = (question: string) => (
    <li>
      <button type="button" disabled={disabled} onClick={() => onAsk(question)}>
        {question}
      </button>
    </li>
  );
  // The questions stand in the midst of this text: the demo searches this file too, and a passage of its own that holds
  // nothing but the question would be the best answer to it.
  return (
    <section className="empty" aria-label="Start">
      <h2>Ask, and see why</h2>
      <p>
        Each answer shows what a model should read, how every passage was ranked, what was left out and why. Move it through both
        clocks, and have your browser check the evidence that it leaves.
      </p>
      <ul>
        {example('How is a cursor decoded?')}
        {example('What does the evidence prove?')}
        {example('How are passages cut to the token budget?')}
      </ul>
    </section>
  );
}
