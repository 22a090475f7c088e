import { toMs } from '@lcm/domain/instant'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { admissionText } from '@lcm/domain/text/admission-text'
import { countText, durationText } from '@lcm/domain/text/format-amounts'
import { useConsole } from '../../../parts/console-context.ts'
import { Fact } from '../../../parts/fact.tsx'
import { StatusBadge } from '../../../parts/status/status-badge.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { Owner } from '../owner.tsx'

export function SessionFacts({ session }: { session: LabletSession }) {
  const { needs, desired_status, desired_by, desired_reason } = session
  return (
    <section class="card facts" aria-labelledby="facts-title">
      <h2 id="facts-title">Details</h2>
      <dl>
        <Fact name="Desired">
          {desired_status} by {desired_by}
          {desired_reason !== '' && `: ${desired_reason}`}
        </Fact>
        <Fact name="Capacity">{admissionText(session.admission)}</Fact>
        <Fact name="Owner">
          <Owner session={session} />
        </Fact>
        <Fact name="Needs">
          {needs.cpu_cores} vCPU, {needs.memory_gb} GB memory, {needs.storage_gb} GB disk,{' '}
          {countText(needs.node_count, 'node')}
        </Fact>
        <Fact name="Worker">{session.worker_id}</Fact>
        <Fact name="Lab record">{session.lab_record_id}</Fact>
        <Fact name="Reservation">{session.reservation_id}</Fact>
        <Fact name="Booked">
          <Timestamp at={session.created_at} />
        </Fact>
        <Fact name="Updated">
          <Timestamp at={session.updated_at} />
        </Fact>
        <Fact name="Version">{session.version}</Fact>
      </dl>
    </section>
  )
}

export function SessionHistory({ session }: { session: LabletSession }) {
  const { nowMs } = useConsole()
  const history = session.state_history.toReversed()
  return (
    <section class="card" aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      <ol class="history session-history">
        {history.map((change, index) => {
          const next = history[index - 1]
          return (
            <li key={`${change.at} ${change.to}`}>
              <StatusBadge status={change.to} />
              <span class="number">{durationText((next ? toMs(next.at) : nowMs.value) - toMs(change.at))}</span>
              <span class="history-because" title={change.because.code}>
                {change.because.message}
              </span>
              <Timestamp class="muted" at={change.at} />
            </li>
          )
        })}
      </ol>
    </section>
  )
}
