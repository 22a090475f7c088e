import { countText } from '@lcm/domain/text/format-amounts'
import { useConsole } from '../../parts/console-context.ts'
import { NamedIcon } from '../../parts/icons.tsx'
import { RawJson } from '../../parts/raw-json.tsx'
import { TableHead } from '../../parts/table/table-head.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { resourceLinkOf } from '../../state/resource-link.ts'
import { changesOf, type FieldChange } from './audit-changes.ts'
import type { Entry } from './audit-entries.ts'
import { type AuditFilter, actionText, auditHash } from './audit-filter.ts'

const COLUMNS = ['Time', 'Actor', 'Action', 'Resource', 'Changes and reason']

export const AuditTable = ({ entries, filter }: { entries: readonly Entry[]; filter: AuditFilter }) => (
  <table class="audit-table">
    <caption class="sr-only">Audit entries, newest first</caption>
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
      <Timestamp at={entry.at} />
    </td>
    <td class="audit-who">
      {entry.actor.name}
      {entry.actor.role !== entry.actor.name && <span class="sub">{entry.actor.role}</span>}
    </td>
    <td class="audit-did">{actionText(entry.action)}</td>
    <td class="audit-to">
      <ResourceCell resource={entry.resource} filter={filter} />
    </td>
    <td class="audit-what">
      {entry.reason !== '' && <p>{entry.reason}</p>}
      <Changes entry={entry} />
    </td>
  </tr>
)

function ResourceCell({ resource, filter }: { resource: string; filter: AuditFilter }) {
  const { live } = useConsole().state
  const { kind, name, href } = resourceLinkOf(resource, live)
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

/** A new resource has many fields: only the first ones are shown. */
const CHANGES_SHOWN_MAX = 8

function Changes({ entry }: { entry: Entry }) {
  const changes = changesOf(entry)
  if (changes.length === 0) return null
  const hidden = changes.length - CHANGES_SHOWN_MAX
  return (
    <>
      <ul class="audit-changes">
        {changes.slice(0, CHANGES_SHOWN_MAX).map(change => (
          <Change key={change.name} change={change} />
        ))}
        {hidden > 0 && <li class="muted">and {countText(hidden, 'more field')}</li>}
      </ul>
      <RawJson value={{ before: entry.before, after: entry.after }} className="audit-raw" />
    </>
  )
}

const Change = ({ change: { name, before, after } }: { change: FieldChange }) => (
  <li>
    <span class="muted">{name}</span> {before !== null && <del>{before}</del>}
    {before !== null && after !== null && <Arrow />}
    {after !== null && <ins>{after}</ins>}
  </li>
)

const Arrow = () => (
  <>
    {' '}
    <NamedIcon name="arrow" />
    <span class="sr-only">became</span>{' '}
  </>
)
