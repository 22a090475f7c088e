import { useConsole } from '../../parts/console-context.ts'
import { NamedIcon } from '../../parts/icons.tsx'
import { SearchField } from '../../parts/list/filter-controls.tsx'
import { NoMatch } from '../../parts/list/no-match.tsx'
import { useFilterChange } from '../../parts/list/use-filter-change.ts'
import { PageState } from '../../parts/shell/page-states.tsx'
import { isAllowed } from '../../state/permission.ts'
import { resourceLinkOf } from '../../state/resource-link.ts'
import type { Query } from '../../state/router.ts'
import { type AuditFilter, auditHash, filterOf, matches, NO_FILTER, WHO, type Who } from './audit-filter.ts'
import { AuditTable } from './audit-table.tsx'
import { useAudit } from './use-audit.ts'

export function AuditPage({ query }: { query: Query }) {
  const { state } = useConsole()
  return isAllowed(state.info.value, 'listAudit') ? <Audit filter={filterOf(query)} /> : <NotAllowed />
}

const NotAllowed = () => (
  <PageState icon="lock" title="Not available for your role">
    <p>Only administrators and operators can see the audit log.</p>
  </PageState>
)

function Audit({ filter }: { filter: AuditFilter }) {
  const { live } = useConsole().state
  const audit = useAudit(filter.resource)
  const nameOf = (resource: string) => resourceLinkOf(resource, live).name
  const shown = audit.entries.filter(entry => matches(entry, filter, nameOf))
  return (
    <section class="page audit">
      <header class="page-head">
        <h1 tabIndex={-1}>Audit</h1>
        <p class="muted">Changes by people and controllers. New entries appear automatically.</p>
      </header>
      <Filters filter={filter} />
      {audit.error !== null && <p class="refusal tone-red">Could not load the audit log: {audit.error}</p>}
      {!audit.isKnown && audit.error === null && <Bones />}
      {shown.length > 0 && <AuditTable entries={shown} filter={filter} />}
      {audit.isKnown && shown.length === 0 && <NoEntry isFiltered={audit.entries.length > 0} />}
      {audit.isKnown && <Foot audit={audit} shownCount={shown.length} />}
    </section>
  )
}

const Bones = () => (
  <div class="loading" aria-busy="true">
    {[0, 1, 2, 3].map(row => (
      <span key={row} class="bone row" />
    ))}
  </div>
)

const WHO_NAMES: Readonly<Record<Who, string>> = { all: 'All', people: 'People', system: 'Policies and controllers' }

function Filters({ filter }: { filter: AuditFilter }) {
  const change = useFilterChange(filterOf, auditHash)
  return (
    <search class="filters">
      <fieldset class="chips">
        <legend class="sr-only">Filter by actor</legend>
        {WHO.map(who => (
          <button
            key={who}
            type="button"
            class="chip"
            aria-pressed={filter.who === who}
            onClick={() => change({ who })}
          >
            {WHO_NAMES[who]}
          </button>
        ))}
        {filter.resource !== '' && <ResourceChip resource={filter.resource} onClear={() => change({ resource: '' })} />}
      </fieldset>
      <SearchField
        label="Search the audit log"
        placeholder="Actor, action, reason"
        text={filter.text}
        onText={text => change({ text })}
      />
    </search>
  )
}

function ResourceChip({ resource, onClear }: { resource: string; onClear: () => void }) {
  const { live } = useConsole().state
  const { kind, name } = resourceLinkOf(resource, live)
  return (
    <button type="button" class="chip" aria-pressed="true" onClick={onClear}>
      Only {kind} {name}
      <NamedIcon name="close" />
      <span class="sr-only">, clear this filter</span>
    </button>
  )
}

const NoEntry = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <NoMatch all={auditHash(NO_FILTER)}>No loaded entry matches.</NoMatch>
  ) : (
    <p class="no-match">No audit entries.</p>
  )

const Foot = ({ audit, shownCount }: { audit: ReturnType<typeof useAudit>; shownCount: number }) => (
  <footer class="audit-foot">
    <p class="muted number">
      {shownCount < audit.entries.length && `${shownCount} of `}
      {audit.entries.length === 1 ? '1 entry' : `${audit.entries.length} entries`}
      {audit.cursor === null ? ', complete' : ' loaded'}
    </p>
    {audit.cursor !== null && (
      <button type="button" class="button" aria-disabled={audit.isReadingOlder} onClick={audit.readOlder}>
        {audit.isReadingOlder ? 'Loading…' : 'Load older entries'}
      </button>
    )}
  </footer>
)
