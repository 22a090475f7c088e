import type { Reason } from '@lcm/domain/reason'
import { countText } from '@lcm/domain/text/format-amounts'
import { leadText } from '@lcm/domain/text/lead-text'
import { useConsole } from '../../parts/console-context.ts'
import { Fact } from '../../parts/fact.tsx'
import { RawJson } from '../../parts/raw-json.tsx'
import { NotFound } from '../../parts/shell/page-states.tsx'
import { StatusBadge } from '../../parts/status/status-badge.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { useRead } from '../../parts/use-read.ts'
import { useLeadBasis } from '../../parts/use-timings.ts'
import { definitionHash } from '../../state/router.ts'
import { DefinitionActions } from './action-buttons.tsx'
import { type Definition, newestFirst } from './definition-groups.ts'
import { Placement } from './placement-details.tsx'
import { SyncState } from './sync-state.tsx'
import { TopologyCard } from './topology-card.tsx'

export function DefinitionPage({ id }: { id: string }) {
  const { state } = useConsole()
  const definition = state.live.definition.get(id)
  const key = `definition ${id} ${definition?.version ?? 0}`
  const read = useRead(key, (client, signal) => client.call('getDefinition', { params: { id }, signal }))
  if (!definition) return <NoSuchDefinition id={id} />
  return (
    <section class="page">
      <Head definition={definition} />
      <Warnings warnings={read.value?.warnings ?? []} />
      <div class="columns">
        <div>
          <TopologyCard read={read} />
          <section class="card" aria-labelledby="placement-title">
            <h2 id="placement-title">Placement of a session that starts now</h2>
            <Placement id={id} />
          </section>
        </div>
        <div>
          <Facts definition={definition} />
          <Ports definition={definition} />
        </div>
      </div>
      <RawJson value={definition} />
    </section>
  )
}

const Warnings = ({ warnings }: { warnings: readonly Reason[] }) => (
  <>
    {warnings.map(({ code, message }) => (
      <p key={code} class="callout tone-orange" role="status">
        <strong>Its sessions will wait:</strong> {message}.
      </p>
    ))}
  </>
)

const NoSuchDefinition = ({ id }: { id: string }) => (
  <NotFound title="Definition not found" list="definitions">
    <p>
      No definition has the id or the name <code>{id}</code>. It may have been deleted.
    </p>
  </NotFound>
)

const Head = ({ definition }: { definition: Definition }) => (
  <header class="resource-head">
    <nav aria-label="Breadcrumb">
      <a href="#/definitions">Definitions</a> <span aria-hidden="true">/</span>{' '}
      <span class="mono">{definition.name}</span>
    </nav>
    <h1 tabIndex={-1}>{definition.title || definition.name}</h1>
    <DefinitionActions definition={definition} without={['preview']} />
    <p class="resource-line">
      <StatusBadge status={definition.status} />
      <Versions definition={definition} />
    </p>
    {definition.description !== '' && <p class="muted">{definition.description}</p>}
  </header>
)

function Versions({ definition }: { definition: Definition }) {
  const { state } = useConsole()
  const all = [...state.live.definition.all().values()].filter(({ name }) => name === definition.name)
  return (
    <span class="versions">
      {newestFirst(all).map(({ id, definition_version }) => (
        <a
          key={id}
          class="version number"
          href={definitionHash(id)}
          aria-current={id === definition.id ? 'page' : undefined}
        >
          {definition_version}
        </a>
      ))}
    </span>
  )
}

const minutesText = (minutes: number): string => countText(minutes, 'minute')

function Facts({ definition }: { definition: Definition }) {
  const { needs, cml_version, license_affinity } = definition
  const { timings, settings } = useLeadBasis()
  return (
    <section class="card facts" aria-labelledby="facts-title">
      <h2 id="facts-title">Details</h2>
      <dl>
        <Fact name="Needs">
          {needs.cpu_cores} vCPU, {needs.memory_gb} GB memory, {needs.storage_gb} GB disk,{' '}
          {countText(needs.node_count, 'node')}
        </Fact>
        <Fact name="Node types">{definition.node_definitions_required.join(', ') || null}</Fact>
        <Fact name="CML">{versionsText(cml_version)}</Fact>
        <Fact name="Licenses">{license_affinity.join(', ') || 'any'}</Fact>
        <Fact name="Maximum duration">{minutesText(definition.max_duration_minutes)}</Fact>
        <Fact name="Lab starts">{leadText(timings.lead(definition, settings))}</Fact>
        <Fact name="Lab reuse">
          {definition.lab_reuse && !definition.saves_enabled ? 'wiped and reused' : 'new lab for each session'}
        </Fact>
        <Fact name="Saved work">{definition.saves_enabled ? 'on' : 'off'}</Fact>
        <Fact name="Topology">
          <SyncState definition={definition} />
        </Fact>
        <Fact name="Hash">{definition.topology_sha256}</Fact>
        <Fact name="Created by">{definition.created_by}</Fact>
        <Fact name="Created">
          <Timestamp at={definition.created_at} />
        </Fact>
        <Fact name="Id">{definition.id}</Fact>
      </dl>
    </section>
  )
}

function versionsText({ min, max }: Definition['cml_version']): string {
  if (min === null && max === null) return 'any version'
  if (max === null) return `${min} or newer`
  return min === null ? `up to ${max}` : `${min} to ${max}`
}

const Ports = ({ definition: { port_template } }: { definition: Definition }) => (
  <section class="card" aria-labelledby="ports-title">
    <h2 id="ports-title">Ports</h2>
    {port_template.length === 0 && <p class="muted">No ports are defined.</p>}
    <ul class="port-list">
      {port_template.map(({ name, node, protocol, inside }) => (
        <li key={name}>
          <strong>{name}</strong>{' '}
          <span class="muted">
            {protocol} to {node}
            {inside !== null && inside !== 0 && `, ${inside}`}
          </span>
        </li>
      ))}
    </ul>
  </section>
)
