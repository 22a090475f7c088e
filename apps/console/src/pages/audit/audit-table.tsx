import { toMs } from '@lcm/domain/instant'
import { NamedIcon } from '../../parts/icons.tsx'
import { TableHead } from '../../parts/table-head.tsx'
import { useConsole } from '../../parts/wiring.ts'
import { dayAndTimeText, momentText } from '../../wording.ts'
import { type AuditFilter, actionText, auditHash, changesOf, type Entry, type FieldChange } from './audit-log.ts'
import { thingOf } from './audited-thing.ts'

const COLUMNS = ['When', 'Who', 'Did', 'To', 'What changed, and why']

export const AuditTable = ({ entries, filter }: { entries: readonly Entry[]; filter: AuditFilter }) => (
  <table class="audit-table">
    <caption class="sr-only">Who did what, newest first</caption>
    <TableHead columns={COLUMNS} />
    <tbody>
      {entries.map(entry => (
        <EntryRow key={entry.id} entry={entry} filter={filter} />
      ))}
    </tbody>
  </table>
)

const EntryRow = ({ entry, filter }: { entry: Entry; filter: AuditFilter }) => (
  <tr>
    <td class="audit-when">
      <time class="number" dateTime={entry.at} title={momentText(toMs(entry.at))}>
        {dayAndTimeText(toMs(entry.at))}
      </time>
    </td>
    <td class="audit-who">
      {entry.actor.name}
      {entry.actor.role !== entry.actor.name && <span class="sub">{entry.actor.role}</span>}
    </td>
    <td class="audit-did">{actionText(entry.action)}</td>
    <td class="audit-to">
      <ThingLink resource={entry.resource} filter={filter} />
    </td>
    <td class="audit-what">
      {entry.reason !== '' && <p>{entry.reason}</p>}
      <Changes changes={changesOf(entry)} />
    </td>
  </tr>
)

function ThingLink({ resource, filter }: { resource: string; filter: AuditFilter }) {
  const { live } = useConsole().state
  const { kind, name, href } = thingOf(resource, live)
  return (
    <>
      {href === null ? <span>{name}</span> : <a href={href}>{name}</a>}
      <a class="sub" href={auditHash({ ...filter, resource })}>
        {kind}
        <span class="sr-only">: only entries about {name}</span>
      </a>
    </>
  )
}

const Changes = ({ changes }: { changes: readonly FieldChange[] }) =>
  changes.length === 0 ? null : (
    <ul class="audit-changes">
      {changes.map(change => (
        <li key={change.name}>
          <span class="muted">{change.name}</span> {change.before !== null && <del>{change.before}</del>}
          {change.before !== null && change.after !== null && <Arrow />}
          {change.after !== null && <ins>{change.after}</ins>}
        </li>
      ))}
    </ul>
  )

const Arrow = () => (
  <>
    {' '}
    <NamedIcon name="arrow" />
    <span class="sr-only">became</span>{' '}
  </>
)
