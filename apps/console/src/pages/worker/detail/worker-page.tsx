import type { WorkerView } from '@lcm/contract/worker'
import type { Instant } from '@lcm/domain/instant'
import { durationText, priceText } from '@lcm/domain/text/format-amounts'
import type { Worker } from '@lcm/domain/worker/worker'
import { nextOfWorker, workerNextText } from '@lcm/domain/worker/worker-next-step'
import { Age } from '../../../parts/age.tsx'
import { useConsole } from '../../../parts/console-context.ts'
import { NamedIcon } from '../../../parts/icons.tsx'
import { RawJson } from '../../../parts/raw-json.tsx'
import { NotFound } from '../../../parts/shell/page-states.tsx'
import { ConditionsCard } from '../../../parts/status/conditions-card.tsx'
import { HealthCallout } from '../../../parts/status/health-callout.tsx'
import { WorkerBadge } from '../../../parts/status/status-badge.tsx'
import { type NextInputs, NextStep, useWhy, WhyPanel } from '../../../parts/why-panel.tsx'
import { WorkerCost } from '../../../parts/worker-cost.tsx'
import { bootStages, otherConditions, type Stage } from '../../../state/boot-stages.ts'
import { PageActions } from '../actions/action-buttons.tsx'
import { ActivityCard } from './activity-card.tsx'
import { LicenseCard } from './license-card.tsx'
import { LifecycleCard } from './lifecycle-card.tsx'
import { LoadCard } from './metrics-card.tsx'
import { ReservationsCard } from './reservations-card.tsx'
import { WorkerFacts } from './worker-facts.tsx'

export function WorkerPage({ id }: { id: string }) {
  const { state } = useConsole()
  const worker = state.live.worker.get(id)
  if (!worker) return <NoSuchWorker id={id} />
  return <Page worker={worker} />
}

function Page({ worker }: { worker: WorkerView }) {
  const { id, health } = worker
  const why = useWhy({
    resource: `worker:${id}`,
    next: inputs => nextStep(worker, inputs),
    read: (client, query, signal) => client.call('getWorkerDecisions', { params: { id }, query, signal }),
  })
  return (
    <section class="page worker">
      <WorkerHead worker={worker} />
      <HealthCallout health={health} fix={null}>
        <NextStep why={why} />
      </HealthCallout>
      <div class="columns">
        <div>
          <LifecycleCard worker={worker} />
          <LoadCard id={id} />
          <WhyPanel why={why} hasNext={health.status === 'OK'} />
        </div>
        <div>
          <Boot worker={worker} />
          <ConditionsCard conditions={otherConditions(worker)} />
          <ReservationsCard worker={worker} />
          <LicenseCard worker={worker} />
          <ActivityCard worker={worker} />
          <WorkerFacts worker={worker} />
        </div>
      </div>
      <RawJson value={worker} />
    </section>
  )
}

function nextStep(worker: Worker, { decisions, services, planOf, nowMs }: NextInputs) {
  const controller = services.find(({ service }) => service === 'worker-controller') ?? null
  const next = nextOfWorker({ worker, decisions, plan: planOf('worker-controller'), controller, nowMs })
  return { next, text: workerNextText(next, { nowMs, duration: durationText }) }
}

const NoSuchWorker = ({ id }: { id: string }) => (
  <NotFound title="Worker not found">
    <p>
      No worker has the id or the name <code>{id}</code>. Records of terminated workers are removed after some time.
    </p>
  </NotFound>
)

const WorkerHead = ({ worker }: { worker: WorkerView }) => (
  <header class="resource-head">
    <nav aria-label="Breadcrumb">
      <a href="#/workers">Workers</a> <span aria-hidden="true">/</span> <span class="mono">{worker.id}</span>
    </nav>
    <h1 tabIndex={-1}>
      {worker.name}
      {worker.protected && (
        <span class="mark">
          <NamedIcon name="lock" /> protected
        </span>
      )}
      {worker.cordoned && <span class="mark word">cordoned</span>}
    </h1>
    <PageActions worker={worker} />
    <p class="resource-line">
      <WorkerBadge worker={worker} />
      <span>
        for <Age since={worker.entered_status_at} />
      </span>
      <span class="number">
        {priceText(worker.cost_per_hour_usd)}, <WorkerCost worker={worker} />
      </span>
      <span>{worker.aws_region}</span>
    </p>
    <p class="muted">
      Desired status {worker.desired_status}, set by {worker.desired_by}
      {worker.desired_reason !== '' && `: ${worker.desired_reason}`}
      {worker.drain !== null && `. Drain requested by ${worker.drain.by}, then ${worker.drain.then}`}
    </p>
  </header>
)

const Boot = ({ worker }: { worker: Worker }) => (
  <section class="card" aria-labelledby="boot-title">
    <h2 id="boot-title">Boot</h2>
    <ol class="stages">
      {bootStages(worker).map(stage => (
        <StageLine key={stage.type} stage={stage} />
      ))}
    </ol>
  </section>
)

const StageLine = ({ stage }: { stage: Stage }) => (
  <li class={`stage ${stage.state}`}>
    <span class="stage-mark" aria-hidden="true">
      {stage.state === 'passed' && <NamedIcon name="check" />}
    </span>
    <span class="stage-name">{stage.name}</span>
    <span class="stage-since">
      {stage.state === 'later' || stage.since === null ? (
        'not reached'
      ) : (
        <StageAge state={stage.state} since={stage.since} />
      )}
    </span>
    {stage.state === 'now' && stage.message !== '' && <span class="stage-message">{stage.message}</span>}
  </li>
)

const StageAge = ({ state, since }: { state: 'passed' | 'now'; since: Instant }) =>
  state === 'passed' ? (
    <>
      passed <Age since={since} /> ago
    </>
  ) : (
    <>
      waiting for <Age since={since} />
    </>
  )
