import type { WorkerView } from '@lcm/contract/worker'
import { countText } from '@lcm/domain/text/format-amounts'
import { useConsole } from '../../../parts/console-context.ts'
import { SessionBadge } from '../../../parts/status/status-badge.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { canSeeAllSessions } from '../../../state/permission.ts'
import { sessionHash } from '../../../state/router.ts'
import { Owner } from '../../session/owner.tsx'

/** Capacity, reservations and ports of the worker. */
export const ReservationsCard = ({ worker }: { worker: WorkerView }) => (
  <section class="card" aria-labelledby="ledger-title">
    <h2 id="ledger-title">Reservations</h2>
    <Capacity worker={worker} />
    <Reservations worker={worker} />
    <Ports worker={worker} />
  </section>
)

const RESOURCES = [
  ['CPU', 'cores', 'cpu_cores', 'cpu_cores'],
  ['Memory', 'GB', 'memory_gb', 'memory_gb'],
  ['Storage', 'GB', 'storage_gb', 'storage_gb'],
  ['Nodes', '', 'nodes', 'max_nodes'],
] as const

const amountText = (amount: number): string => (Number.isInteger(amount) ? String(amount) : amount.toFixed(1))

function Capacity({ worker: { capacity } }: { worker: WorkerView }) {
  const { declared, reserved } = capacity
  return (
    <dl class="capacity">
      {RESOURCES.map(([name, unit, taken, all]) => {
        const max = declared?.[all] ?? null
        return (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <span class="number">
                <strong>{amountText(reserved[taken])}</strong>
                <span class="muted">
                  {' '}
                  of {max === null ? 'unknown' : amountText(max)} {unit}
                </span>
              </span>
              <meter
                aria-label={`${name} reserved`}
                min={0}
                max={Math.max(1, max ?? 1)}
                value={max === null ? 0 : reserved[taken]}
              />
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

function Reservations({ worker }: { worker: WorkerView }) {
  const { state } = useConsole()
  const held = Object.entries(worker.reservations)
  const waiting = worker.wanted_by.length
  const seesAll = canSeeAllSessions(state.info.value)
  if (held.length === 0)
    return (
      <p class="muted">
        {seesAll ? 'No sessions on this worker.' : 'None of your sessions is on this worker.'}
        {waiting > 0 && ` ${waiting} waiting for it to start.`}
      </p>
    )
  return (
    <ul class="ledger">
      {held.map(([id, reservation]) => {
        const session = state.live.session.get(id)
        return (
          <li key={id}>
            <span>
              <a href={sessionHash(id)}>{session?.definition.name ?? id}</a>
              {session && <SessionBadge session={session} />}
            </span>
            <span class="muted">
              {session && (
                <>
                  <Owner session={session} />,{' '}
                </>
              )}
              {countText(reservation.cpu_cores, 'core')}, {amountText(reservation.memory_gb)} GB,{' '}
              {countText(reservation.nodes, 'node')}, <Timestamp at={reservation.from} /> to{' '}
              {reservation.until === null ? (
                'the next scan that sees its lab gone'
              ) : (
                <Timestamp at={reservation.until} />
              )}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

function Ports({ worker }: { worker: WorkerView }) {
  const { state } = useConsole()
  const held = Object.entries(worker.ports).filter(([, ports]) => Object.keys(ports).length > 0)
  if (held.length === 0) return null
  return (
    <>
      <h3>Ports</h3>
      <ul class="ledger">
        {held.map(([labId, ports]) => {
          const lab = state.live.lab.get(labId)
          return (
            <li key={labId}>
              <span>
                {lab?.session_id ? <a href={sessionHash(lab.session_id)}>{lab.title}</a> : (lab?.title ?? labId)}
              </span>
              <span class="ports">
                {Object.entries(ports).map(([name, port]) => (
                  <code key={name}>
                    {name} {port}
                  </code>
                ))}
              </span>
            </li>
          )
        })}
      </ul>
    </>
  )
}
