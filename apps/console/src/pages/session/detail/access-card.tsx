import { accessLine } from '@lcm/domain/session/access-line'
import { isLive, type LabletSession } from '@lcm/domain/session/lablet-session'
import { CopyButton } from '../../../parts/copy-button.tsx'

/** How to get into its lab. Doors of a lab that is gone are not shown: others may be behind them by now. */
export function AccessCard({ session }: { session: LabletSession }) {
  const { access, status } = session
  const isOpen = status === 'READY' || status === 'RUNNING'
  if (!isOpen && !isLive(status) && status !== 'PENDING') return null
  return (
    <section class="card" aria-labelledby="access-title">
      <h2 id="access-title">Access</h2>
      {!isOpen && <p class="muted">{status === 'STOPPING' || status === 'EXPIRED' ? 'Closed.' : 'Not open yet.'}</p>}
      {isOpen && access.length === 0 && <p class="muted">Its lab opens no ports.</p>}
      {isOpen && (
        <ul class="doors">
          {access.map(door => {
            const line = accessLine(door)
            return (
              <li key={door.name}>
                <span>
                  <strong>{door.node}</strong> <span class="muted">{door.protocol}</span>
                  <span class="sub mono">{door.name}</span>
                </span>
                <code class="door-line">{line}</code>
                <CopyButton text={line} what={`the address of ${door.name}`} />
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}
