const QUESTIONS = ['How is a cursor decoded?', 'What does the evidence prove?', 'How are passages cut to the token budget?'];

/** Before the first question: what this page does, and questions that the demo can answer. */
export function Empty({ disabled, onAsk }: { disabled: boolean; onAsk: (question: string) => void }) {
  return (
    <section className="empty" aria-label="Start">
      <h2>Ask, and see why</h2>
      <p>
        Each answer shows what a model should read, how every passage was ranked, what was left out and why. Move it through both
        clocks, and have your browser check the evidence that it leaves.
      </p>
      <ul>
        {QUESTIONS.map((question) => (
          <li key={question}>
            <button type="button" disabled={disabled} onClick={() => onAsk(question)}>
              {question}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
