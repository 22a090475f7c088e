import type { JournalEntry } from '@lcm/client/sim-client'
import { useSignal } from '@preact/signals'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { TableHead } from '../../parts/table/table-head.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { useRead } from '../../parts/use-read.ts'
import { timeText } from '../../state/time-format.ts'
import type { Sim } from './use-sim.ts'

const COLUMNS = ['Time', 'Call', 'Region', 'Response', 'Instances']

const EVERY_MS = 2_000
const READ_MAX = 500
const SHOWN_MAX = 60

export const isFailed = ({ status, fault }: JournalEntry): boolean => status >= 400 || fault !== null

/** API calls that the simulated AWS received. */
export function RequestLogCard({ sim }: { sim: Sim }) {
  const isFailedOnly = useSignal(false)
  const requests = useRead('requests', (_client, signal) => sim.client.requests(READ_MAX, signal), {
    everyMs: EVERY_MS,
  })
  const calls = (requests.value ?? []).filter(call => !isFailedOnly.value || isFailed(call)).slice(0, SHOWN_MAX)
  return (
    <section class="card journal" aria-labelledby="journal-title">
      <header>
        <h2 id="journal-title">
          AWS request log <span class="muted">newest first</span>
        </h2>
        <label class="check">
          <input
            type="checkbox"
            checked={isFailedOnly.value}
            onChange={event => {
              isFailedOnly.value = event.currentTarget.checked
            }}
          />
          <span>Failed only</span>
        </label>
      </header>
      {requests.error !== null && (
        <p class="read-failed" role="alert">
          Could not reach the simulated cloud: {requests.error}
        </p>
      )}
      {requests.value !== null && calls.length === 0 && <p class="muted">No calls yet.</p>}
      {calls.length > 0 && <Calls calls={calls} />}
    </section>
  )
}

const Calls = ({ calls }: { calls: readonly JournalEntry[] }) => (
  <ScrollBox label="AWS request log">
    <table class="data-table calls">
      <TableHead columns={COLUMNS} />
      <tbody>
        {calls.map((call, index) => (
          <tr key={`${call.at} ${call.invocation_id} ${call.attempt} ${index}`} class={isFailed(call) ? 'failed' : ''}>
            <td>
              <Timestamp at={call.at} text={timeText} />
            </td>
            <th scope="row">{call.action}</th>
            <td>{call.region}</td>
            <td class="number">
              {call.status} {call.code}
              {call.fault !== null && <span class="trouble tone-red">{call.fault.replaceAll('_', ' ')}</span>}
            </td>
            <td class="mono">{call.instance_ids.join(', ')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </ScrollBox>
)
