import { useGraphiQL, useGraphiQLActions, type GraphiQLPlugin } from '@graphiql/react';
import { Kind, parse } from 'graphql';
import { operationGroups, type SavedOperation } from '../operations';

function Content() {
  const { addTab, changeTab, setOperationFacts, updateActiveTabValues } = useGraphiQLActions();
  const { tabs, queryEditor, variableEditor } = useGraphiQL((state) => ({
    tabs: state.tabs,
    queryEditor: state.queryEditor,
    variableEditor: state.variableEditor,
  }));

  const open = (operation: SavedOperation) => {
    const index = tabs.findIndex((tab) => tab.query === operation.query);
    if (index >= 0) changeTab(index);
    else addTab();
    const variables = operation.variables();
    queryEditor?.setValue(operation.query);
    variableEditor?.setValue(variables);
    updateActiveTabValues({ query: operation.query, variables, operationName: operation.name });
    // GraphiQL reads the new text only after a pause; until then the run button would ask for the former operation.
    const documentAST = parse(operation.query);
    const operations = documentAST.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
    setOperationFacts({ documentAST, operationName: operation.name, operations });
  };

  return (
    <section className="saved" aria-label="Saved operations">
      <h2>Saved operations</h2>
      {operationGroups.map((group) => (
        <div key={group.title}>
          <h3>{group.title}</h3>
          <ul>
            {group.operations.map((operation) => (
              <li key={operation.name}>
                <button type="button" onClick={() => open(operation)}>
                  <strong>{operation.title}</strong>
                  <span>{operation.summary}</span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

function Icon() {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.6" aria-hidden="true">
      <path d="M6 3.5h12v17l-6-4.2-6 4.2z" strokeLinejoin="round" />
    </svg>
  );
}

export const savedOperationsPlugin: GraphiQLPlugin = { title: 'Saved operations', icon: Icon, content: Content };
