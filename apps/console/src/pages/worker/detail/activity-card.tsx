import type { WorkerView } from '@lcm/contract/worker'
import { type Instant, toMs } from '@lcm/domain/instant'
import { durationText } from '@lcm/domain/text/format-amounts'
import { Age } from '../../../parts/age.tsx'
import { useConsole } from '../../../parts/console-context.ts'
import { Fact } from '../../../parts/fact.tsx'
import { useRead } from '../../../parts/use-read.ts'
import { exactText } from '../../../state/time-format.ts'

/** Last use of the worker and the idle policy. */
export function ActivityCard({ worker }: { worker: WorkerView }) {
  const { activity, pause } = worker
  const policy = useRead(
    worker.id,
    (client, signal) => client.call('getWorkerActivity', { params: { id: worker.id }, signal }),
    { updatesOf: 'settings' },
  ).value?.policy
  return (
    <section class="card facts" aria-labelledby="activity-title">
      <h2 id="activity-title">Activity</h2>
      <dl>
        <Fact name="Last used">{activity.last_activity_at && <Ago at={activity.last_activity_at} />}</Fact>
        <Fact name="Idle">
          {activity.idle_since ? (
            <>
              for <Age since={activity.idle_since} />
            </>
          ) : (
            'no'
          )}
        </Fact>
        <Fact name="Last check">{activity.last_check_at && <Ago at={activity.last_check_at} />}</Fact>
        <Fact name="Next check">{activity.next_check_at && <Until at={activity.next_check_at} />}</Fact>
        <Fact name="Policy">{policy && <Policy worker={worker} policy={policy} />}</Fact>
        <Fact name="Pauses">
          {pause.counts.auto} automatic, {pause.counts.manual} manual, {pause.counts.resumed} resumed
          {pause.reason !== null && `; paused: ${pause.reason.message}`}
        </Fact>
      </dl>
      <RecentEvents events={activity.recent_events} />
    </section>
  )
}

const Ago = ({ at }: { at: Instant }) => (
  <>
    <Age since={at} /> ago
  </>
)

function Until({ at }: { at: Instant }) {
  const { nowMs } = useConsole()
  const leftMs = toMs(at) - nowMs.value
  return (
    <time class="number" dateTime={at} title={exactText(toMs(at))}>
      {leftMs > 0 ? `in ${durationText(leftMs)}` : 'due'}
    </time>
  )
}

interface PolicyProps {
  readonly worker: WorkerView
  readonly policy: { readonly enabled: boolean; readonly timeout_seconds: number; readonly action: string }
}

function Policy({ worker, policy }: PolicyProps) {
  if (!worker.idle_detection_enabled) return <>Idle detection is off for this worker</>
  if (!policy.enabled) return <>Idle detection is off</>
  if (policy.action === 'calendar') return <>stopped when sleeping costs less than staying until its next use</>
  if (policy.action === 'none') return <>Idle workers are reported only</>
  return (
    <>
      {policy.action} after {durationText(policy.timeout_seconds * 1000)} without use
    </>
  )
}

const RecentEvents = ({ events }: { events: WorkerView['activity']['recent_events'] }) =>
  events.length === 0 ? null : (
    <ul class="events">
      {events.map(event => (
        <li key={`${event.at} ${event.category} ${event.detail}`}>
          <code>{event.category}</code>
          <span>{event.detail}</span>
          <span class="muted">
            <Ago at={event.at} />
          </span>
        </li>
      ))}
    </ul>
  )
