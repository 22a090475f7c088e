import type { SimMachine } from '@lcm/client/sim-client'
import { agrees, cmlTroubles, nameOf, type Pair, pairsOf } from '@lcm/client/sim-machines'
import { toneOf } from '@lcm/domain/text/status-tone'
import type { Worker } from '@lcm/domain/worker/worker'
import { Age } from '../../parts/age.tsx'
import { useConsole } from '../../parts/console-context.ts'
import { NamedIcon, ShapeIcon, StatusIcon } from '../../parts/icons.tsx'
import { WorkerStatusBadge } from '../../parts/status-badge.tsx'
import { ScrollBox } from '../../parts/table/scroll-box.tsx'
import { useRead } from '../../parts/use-read.ts'
import { workerHash } from '../../state/router.ts'
import { MachineActions } from './machine-actions.tsx'
import { WORKER_STATUS_OF } from './sim-state.ts'
import type { Sim } from './use-sim.ts'

const EVERY_MS = 1_000
/** Beyond, the page would crawl; the simulator itself has no such limit. */
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
        Machines <span class="muted">what EC2 says, beside what LCM records</span>
      </h2>
      {machines.error !== null && (
        <p class="read-failed" role="alert">
          Could not ask the simulated cloud: {machines.error}
        </p>
      )}
      {machines.value !== null && pairs.length === 0 && (
        <p class="muted">
          There is no machine. <a href="#/workers">Create a worker</a> first.
        </p>
      )}
      {pairs.length > 0 && <Machines pairs={pairs} sim={sim} />}
    </section>
  )
}

const Machines = ({ pairs, sim }: { pairs: readonly Pair[]; sim: Sim }) => (
  <>
    <ScrollBox label="Machines">
      <table class="machines">
        <thead>
          <tr>
            <th scope="col">Machine</th>
            <th scope="col">EC2 says</th>
            <th scope="col">LCM records</th>
            <th scope="col">
              <span class="sr-only">Acts behind LCM's back</span>
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
        {SHOWN_MAX} of {pairs.length} machines are shown.
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
        {worker === null ? <span class="muted">nothing: it is not ours</span> : <WorkerStatusBadge worker={worker} />}
        <SyncState pair={pair} />
      </td>
      <td class="col-actions">
        <MachineActions pair={pair} sim={sim} />
      </td>
    </tr>
  )
}

function Ec2State({ machine }: { machine: SimMachine }) {
  const { state, stage, retires_at, cml_faults } = machine
  return (
    <>
      <span class={`badge tone-${toneOf(WORKER_STATUS_OF[state])}`}>
        <StatusIcon status={WORKER_STATUS_OF[state]} />
        {state}
      </span>
      {state === 'running' && <span class="sub">CML {stage === 'READY' ? 'is ready' : `is at ${stage}`}</span>}
      {retires_at !== null && <span class="sub">to be retired</span>}
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
          <ShapeIcon shape="alarm" /> LCM has not seen it yet
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

/** It looks by itself every half minute; whoever can't wait may ask. */
function RefreshButton({ worker }: { worker: Worker }) {
  const { requests } = useConsole()
  const isPending = requests.pendingVerbOf(worker.id) !== null
  const look = () =>
    requests.send({ kind: 'worker', id: worker.id, name: worker.name }, 'refresh', client =>
      client.call('refreshWorker', { params: { id: worker.id }, body: {} }),
    )
  return (
    <button type="button" class="button small look" aria-disabled={isPending} onClick={() => !isPending && look()}>
      {isPending ? 'Asked…' : 'Look now'}
      <span class="sr-only"> at {worker.name}</span>
    </button>
  )
}
