import { countText } from '@lcm/domain/text/format-amounts'
import { useSignal } from '@preact/signals'
import { NamedIcon } from '../../parts/icons.tsx'
import { StatusBadge } from '../../parts/status/status-badge.tsx'
import { TableHead } from '../../parts/table/table-head.tsx'
import { definitionHash } from '../../state/router.ts'
import { DefinitionActions } from './action-buttons.tsx'
import type { Definition, DefinitionGroup } from './definition-groups.ts'
import { SyncState } from './sync-state.tsx'

const COLUMNS = ['Definition', 'Version', 'Status', 'Needs', 'Ports', 'Topology', 'Actions']

interface TableProps {
  readonly groups: readonly DefinitionGroup[]
  /** Expands older versions from the start: a filter may match them. */
  readonly isOpen: boolean
}

export const DefinitionTable = ({ groups, isOpen }: TableProps) => (
  <table class="table definitions">
    <TableHead columns={COLUMNS} />
    {groups.map(group => (
      <Group key={`${group.name} ${isOpen}`} group={group} isOpen={isOpen} />
    ))}
  </table>
)

function Group({ group: { name, current, others }, isOpen }: { group: DefinitionGroup; isOpen: boolean }) {
  const isUnfolded = useSignal(isOpen)
  return (
    <tbody>
      <tr class="definition-row">
        <th scope="row" class="col-definition">
          <a href={definitionHash(current.id)}>{name}</a>
          <span class="sub">{current.title}</span>
        </th>
        <td class="col-version">
          <span class="number">{current.definition_version}</span>
          {others.length > 0 && (
            <button
              type="button"
              class="fold"
              aria-expanded={isUnfolded.value}
              onClick={() => {
                isUnfolded.value = !isUnfolded.value
              }}
            >
              <NamedIcon name={isUnfolded.value ? 'up' : 'down'} />
              {countText(others.length, 'other version')}
              <span class="sr-only"> of {name}</span>
            </button>
          )}
        </td>
        <Cells definition={current} />
      </tr>
      {isUnfolded.value && others.map(other => <OtherVersion key={other.id} definition={other} />)}
    </tbody>
  )
}

const OtherVersion = ({ definition }: { definition: Definition }) => (
  <tr class="definition-row other">
    <th scope="row" class="col-definition">
      <span class="sub other-name">{definition.name}</span>
    </th>
    <td class="col-version">
      <a class="number" href={definitionHash(definition.id)}>
        {definition.definition_version}
      </a>
    </td>
    <Cells definition={definition} />
  </tr>
)

const Cells = ({ definition }: { definition: Definition }) => (
  <>
    <td class="col-status">
      <StatusBadge status={definition.status} />
    </td>
    <td class="col-needs">
      <Needs definition={definition} />
    </td>
    <td class="col-ports number">{countText(definition.port_template.length, 'port')}</td>
    <td class="col-sync">
      <SyncState definition={definition} />
    </td>
    <td class="col-actions">
      <DefinitionActions definition={definition} />
    </td>
  </>
)

function Needs({ definition: { needs, topology_sha256 } }: { definition: Definition }) {
  if (topology_sha256 === null) return <span class="muted">known after the first fetch</span>
  return (
    <>
      <span class="number">
        {needs.cpu_cores} vCPU · {needs.memory_gb} GB
      </span>
      <span class="sub number">
        {countText(needs.node_count, 'node')}, {needs.storage_gb} GB disk
      </span>
    </>
  )
}
