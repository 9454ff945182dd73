import { useDeferredValue, useMemo } from 'react';
import { ask } from '../api/client';
import { Trouble } from '../inspect/Trouble';
import { useLoad, valueOf } from '../inspect/useLoad';
import type { Address, Go } from '../session/address';
import { named, ownTypes, SCHEMA, search, written, type InputValue, type SchemaType, type TypeRef } from './introspection';
import '../inspect/inspect.css';
import './schema.css';

const KINDS: Readonly<Record<SchemaType['kind'], string>> = {
  OBJECT: 'type',
  INPUT_OBJECT: 'input',
  ENUM: 'enum',
  SCALAR: 'scalar',
  INTERFACE: 'interface',
  UNION: 'union',
};

/** Every type, field, argument and enum value of the API with its description, searchable. */
export function SchemaView({ token, address, go }: { token: string | null; address: Address; go: Go }) {
  const [loaded, again] = useLoad(token && 'schema', async (signal) => ownTypes((await ask(token ?? '', SCHEMA, {}, signal)).__schema.types));
  const types = valueOf(loaded);
  const find = useDeferredValue(address.find);
  const found = useMemo(() => search(types ?? [], find), [types, find]);
  const find_ = (name: string) => go({ find: name }, 'replace');
  return (
    <div className="schema">
      <nav className="schema-index" aria-label="Types">
        <label className="field">
          <span>Search</span>
          <input type="search" value={address.find} placeholder="a name, or words of a description" onChange={(event) => find_(event.target.value)} />
        </label>
        <p className="fine" role="status">
          {types ? `${found.length} of ${types.length} types` : token === null ? 'A token is needed.' : 'Reading the schema…'}
        </p>
        <ul>
          {found.map((type) => (
            <li key={type.name}>
              <a href={`#type-${type.name}`} onClick={(event) => jump(event, type.name)}>
                {type.name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div className="schema-types" tabIndex={0} role="region" aria-label="Descriptions">
        {loaded.state === 'failed' && <Trouble error={loaded.error} onRetry={again} />}
        {types && found.length === 0 && <p>Nothing has these words. Try fewer, or a part of one.</p>}
        {found.map((type) => (
          <TypeEntry key={type.name} type={type} onType={find_} />
        ))}
      </div>
    </div>
  );
}

/** A description; what stands in backticks is code. */
function Prose({ text }: { text: string | null }) {
  return <>{text?.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

function jump(event: React.MouseEvent, name: string) {
  // The fragment holds the page's state, so it is not used to scroll.
  event.preventDefault();
  const target = document.getElementById(`type-${name}`);
  target?.scrollIntoView();
  target?.focus({ preventScroll: true });
}

function TypeEntry({ type, onType }: { type: SchemaType; onType: (name: string) => void }) {
  return (
    <article className="type" id={`type-${type.name}`} tabIndex={-1} aria-label={type.name}>
      <h2>
        <span className="fine">{KINDS[type.kind]}</span> {type.name}
      </h2>
      {type.description && <p><Prose text={type.description} /></p>}
      <dl>
        {type.fields?.map((field) => (
          <div key={field.name}>
            <dt>
              <code>{field.name}</code> <TypeName type={field.type} onType={onType} />
              {field.isDeprecated && <span className="deprecated">deprecated: {field.deprecationReason}</span>}
            </dt>
            <dd>
              <Prose text={field.description} />
              {field.args.length > 0 && (
                <dl className="args">
                  {field.args.map((item) => (
                    <Input key={item.name} item={item} onType={onType} />
                  ))}
                </dl>
              )}
            </dd>
          </div>
        ))}
        {type.inputFields?.map((item) => (
          <Input key={item.name} item={item} onType={onType} />
        ))}
        {type.enumValues?.map((value) => (
          <div key={value.name}>
            <dt>
              <code>{value.name}</code>
              {value.isDeprecated && <span className="deprecated">deprecated: {value.deprecationReason}</span>}
            </dt>
            <dd><Prose text={value.description} /></dd>
          </div>
        ))}
      </dl>
    </article>
  );
}

function Input({ item, onType }: { item: InputValue; onType: (name: string) => void }) {
  return (
    <div>
      <dt>
        <code>{item.name}</code> <TypeName type={item.type} onType={onType} />
        {item.defaultValue !== null && item.defaultValue !== 'null' && <span className="fine"> = {item.defaultValue}</span>}
      </dt>
      <dd><Prose text={item.description} /></dd>
    </div>
  );
}

function TypeName({ type, onType }: { type: TypeRef; onType: (name: string) => void }) {
  return (
    <button type="button" className="quiet type-name" onClick={() => onType(named(type))}>
      {written(type)}
    </button>
  );
}
