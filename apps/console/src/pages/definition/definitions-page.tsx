import { countText } from '@lcm/domain/text/format-amounts'
import { useConsole } from '../../parts/console-context.ts'
import { SearchField, StatusChips } from '../../parts/list/filter-controls.tsx'
import { Creations, Headline, NewButton } from '../../parts/list/list-page-header.tsx'
import { NoMatch } from '../../parts/list/no-match.tsx'
import { useFilterChange } from '../../parts/list/use-filter-change.ts'
import { PageState } from '../../parts/shell/page-states.tsx'
import type { Query } from '../../state/router.ts'
import { CreateDialog } from './definition-dialog.tsx'
import { type DefinitionFilter, definitionsHash, filterOf, matches, NO_FILTER } from './definition-filter.ts'
import { DEFINITION_STATES, type DefinitionGroup, groupsOf } from './definition-groups.ts'
import { DefinitionTable } from './definition-table.tsx'

export function DefinitionsPage({ query }: { query: Query }) {
  const { state } = useConsole()
  const groups = groupsOf(state.live.definition.all().values())
  const filter = filterOf(query)
  if (groups.length === 0) return <NoDefinitions />
  const shown = groups.filter(group => matches(group, filter))
  return (
    <section class="page">
      <GroupsHeadline groups={groups} />
      <FilterBar filter={filter} groups={groups} />
      <Creations kind="definition" />
      {shown.length > 0 ? (
        <DefinitionTable groups={shown} isOpen={filter.status !== null} />
      ) : (
        <NoMatch all={definitionsHash(NO_FILTER)}>No definitions match the filter.</NoMatch>
      )}
    </section>
  )
}

const versionsOf = (groups: readonly DefinitionGroup[]) => groups.flatMap(({ current, others }) => [current, ...others])

function GroupsHeadline({ groups }: { groups: readonly DefinitionGroup[] }) {
  const bookable = groups.filter(({ current }) => current.status === 'ACTIVE').length
  return (
    <Headline title="Definitions" summary={`${countText(groups.length, 'definition')}, ${bookable} bookable`}>
      <NewDefinitionButton />
    </Headline>
  )
}

const NewDefinitionButton = () => (
  <NewButton route="createDefinition" form={() => <CreateDialog />}>
    Create definition
  </NewButton>
)

function FilterBar({ filter, groups }: { filter: DefinitionFilter; groups: readonly DefinitionGroup[] }) {
  const change = useFilterChange(filterOf, definitionsHash)
  const versions = versionsOf(groups)
  return (
    <search class="filters">
      <StatusChips
        statuses={DEFINITION_STATES}
        countOf={status => versions.filter(each => each.status === status).length}
        allCount={groups.length}
        chosen={filter.status === null ? [] : [filter.status]}
        onChoose={next => change(({ status }) => ({ status: next(status === null ? [] : [status]).at(-1) ?? null }))}
      />
      <div class="narrowing">
        <SearchField
          label="Search definitions"
          placeholder="Name, title or node type"
          text={filter.text}
          onText={text => change({ text })}
        />
      </div>
    </search>
  )
}

const NoDefinitions = () => (
  <PageState icon="flask" title="No definitions yet">
    <p>A definition is a lab that people can book: a topology exported from CML, with the resources that it needs.</p>
    <Creations kind="definition" />
    <NewDefinitionButton />
    <p class="muted">
      Or from the command line: <code>lcm create definition NAME -f lab.yaml</code>
    </p>
  </PageState>
)
