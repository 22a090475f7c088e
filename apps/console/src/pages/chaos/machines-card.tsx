import type { SimMachine } from '@lcm/client/sim-client'
import { agrees, cmlTroubles, nameOf, type Pair, pairsOf } from '@lcm/client/sim-worker-pairs'
import { toneOf } from '@lcm/domain/text/status-tone'
import type { Worker } from '@lcm/domain/worker/worker'
import { Age } from '../../parts/age.tsx'
import { useConsole } from '../../parts/console-context.ts'
import { NamedIcon, ShapeIcon, StatusIcon } from '../../parts/icons.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { WorkerBadge } from '../../parts/status/status-badge.tsx'
import { useRead } from '../../parts/use-read.ts'
import { workerHash } from '../../state/router.ts'
import { WORKER_STATUS_OF } from './allowed-machine-actions.ts'
import { MachineActions } from './machine-action-buttons.tsx'
import type { Sim } from './use-sim.ts'

const EVERY_MS = 1_000
/** Rows shown at most, to keep the page fast. */
const SHOWN_MAX = 200

export function MachinesCard({ sim }: { sim: Sim }) {
  const { state } = useConsole()
  const machines = useRead('machines', (_client, signal) => sim.client.machines(signal), {
    everyMs: EVERY_MS,
  })
  const pairs = pairsOf(machines.value ?? [], state.live.worker.all().values())
  return (
    <section class="card" aria-labelledby="machines-title">
      <h2 id="machines-title">
        Machines <span class="muted">EC2 state compared with LCM's record</span>
      </h2>
      {machines.error !== null && (
        <p class="read-failed" role="alert">
          Could not reach the simulated cloud: {machines.error}
        </p>
      )}
      {machines.value !== null && pairs.length === 0 && (
        <p class="muted">
          No machines. <a href="#/workers">Create a worker</a> first.
        </p>
      )}
      {pairs.length > 0 && <Machines pairs={pairs} sim={sim} />}
    </section>
  )
}

const Machines = ({ pairs, sim }: { pairs: readonly Pair[]; sim: Sim }) => (
  <>
    <ScrollBox label="Machines">
      <table class="data-table machines">
        <thead>
          <tr>
            <th scope="col">Machine</th>
            <th scope="col">EC2</th>
            <th scope="col">LCM</th>
            <th scope="col">
              <span class="sr-only">Actions in EC2</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {pairs.slice(0, SHOWN_MAX).map(pair => (
            <MachineRow key={pair.machine.instance_id} pair={pair} sim={sim} />
          ))}
        </tbody>
      </table>
    </ScrollBox>
    {pairs.length > SHOWN_MAX && (
      <p class="muted">
        Showing {SHOWN_MAX} of {pairs.length} machines.
      </p>
    )}
  </>
)

function MachineRow({ pair, sim }: { pair: Pair; sim: Sim }) {
  const { machine, worker } = pair
  return (
    <tr class={agrees(pair) === false ? 'differs' : ''}>
      <th scope="row">
        {worker === null ? nameOf(pair) : <a href={workerHash(worker.id)}>{worker.name}</a>}
        <span class="sub mono">{machine.instance_id}</span>
      </th>
      <td>
        <Ec2State machine={machine} />
      </td>
      <td>
        {worker === null ? <span class="muted">not managed by LCM</span> : <WorkerBadge worker={worker} />}
        <SyncState pair={pair} />
      </td>
      <td class="col-actions">
        <MachineActions pair={pair} sim={sim} />
      </td>
    </tr>
  )
}

/** How far the boot of CML has come. */
const STAGE_TEXTS: Readonly<Partial<Record<string, string>>> = {
  NOTHING: 'CML does not answer yet',
  TCP: 'CML accepts connections',
  TLS: 'CML speaks TLS',
  GATEWAY: 'CML web server answers',
  API: 'CML API answers',
  READY: 'CML is ready',
}

function Ec2State({ machine }: { machine: SimMachine }) {
  const { state, stage, retires_at, cml_faults } = machine
  return (
    <>
      <span class={`badge tone-${toneOf(WORKER_STATUS_OF[state])}`}>
        <StatusIcon status={WORKER_STATUS_OF[state]} />
        {state}
      </span>
      {state === 'running' && <span class="sub">{STAGE_TEXTS[stage] ?? `CML: ${stage}`}</span>}
      {retires_at !== null && <span class="sub">scheduled for retirement</span>}
      {cmlTroubles(cml_faults).map(trouble => (
        <span key={trouble} class="trouble tone-red">
          <NamedIcon name="flask" /> {trouble}
        </span>
      ))}
    </>
  )
}

function SyncState({ pair }: { pair: Pair }) {
  const isSame = agrees(pair)
  if (isSame === null || pair.worker === null) return null
  if (!isSame)
    return (
      <>
        <span class="trouble tone-orange">
          <ShapeIcon shape="alarm" /> LCM has not noticed yet
        </span>
        <RefreshButton worker={pair.worker} />
      </>
    )
  return (
    <span class="sub">
      for <Age since={pair.worker.entered_status_at} />
    </span>
  )
}

/** LCM observes every 30 s; this button triggers it now. */
function RefreshButton({ worker }: { worker: Worker }) {
  const { requests } = useConsole()
  const isPending = requests.pendingVerbOf(worker.id) !== null
  const refresh = () =>
    requests.send({ kind: 'worker', id: worker.id, name: worker.name }, 'refresh', client =>
      client.call('refreshWorker', { params: { id: worker.id }, body: {} }),
    )
  return (
    <button
      type="button"
      class="button small refresh"
      aria-disabled={isPending}
      onClick={() => !isPending && refresh()}
    >
      {isPending ? 'Refreshing…' : 'Refresh now'}
      <span class="sr-only"> {worker.name}</span>
    </button>
  )
}
