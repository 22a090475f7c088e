import type { LabGraph } from '@lcm/contract/definition'
import type { AnswerOf } from '@lcm/contract/routes'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import type { Read } from '../../parts/use-read.ts'
import { sumOf, TopologyGraph } from './topology-graph.tsx'

type Known = AnswerOf<'getDefinition'>

export const TopologyCard = ({ read }: { read: Read<Known> }) => (
  <section class="card topology-card" aria-labelledby="topology-title">
    <h2 id="topology-title">Topology {read.value?.graph && <span class="muted">{sumOf(read.value.graph)}</span>}</h2>
    {read.value === null ? <NotRead read={read} /> : <TopologyOf definition={read.value} />}
  </section>
)

const NotRead = ({ read }: { read: Read<Known> }) =>
  read.error === null ? (
    <div class="topology-box bone" aria-busy="true" />
  ) : (
    <p class="read-failed" role="alert">
      Could not load the topology: {read.error}{' '}
      <button type="button" class="button small" onClick={read.reload}>
        Try again
      </button>
    </p>
  )

function TopologyOf({ definition: { graph, topology } }: { definition: Known }) {
  if (topology === null && graph === null)
    return <p class="muted">The topology was not fetched yet. It appears here after the first fetch.</p>
  return (
    <>
      {graph !== null && <TopologyGraph graph={graph} />}
      {graph !== null && <GraphAsList graph={graph} />}
      {topology === null ? <p class="muted">Only authors and operators can see the YAML.</p> : <Yaml text={topology} />}
    </>
  )
}

const Yaml = ({ text }: { text: string }) => (
  <details>
    <summary>Topology as YAML</summary>
    <div class="yaml-head">
      <CopyButton text={text} what="the YAML" />
    </div>
    <ScrollBox label="Topology as YAML">
      <pre class="yaml-text">{text}</pre>
    </ScrollBox>
  </details>
)

function GraphAsList({ graph: { nodes, links } }: { graph: LabGraph }) {
  const labelOf = new Map(nodes.map(({ id, label }) => [id, label]))
  return (
    <details>
      <summary>Nodes and links as a list</summary>
      <ul class="graph-list" aria-label="Nodes">
        {nodes.map(({ id, label, node_definition }) => (
          <li key={id}>
            <strong>{label}</strong> <span class="muted">{node_definition}</span>
          </li>
        ))}
      </ul>
      <ul class="graph-list" aria-label="Links">
        {links.map(({ a, b, label }, index) => (
          <li key={index}>
            {labelOf.get(a)} – {labelOf.get(b)} {label !== '' && <span class="muted">{label}</span>}
          </li>
        ))}
      </ul>
    </details>
  )
}
