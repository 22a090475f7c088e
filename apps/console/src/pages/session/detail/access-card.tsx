import { accessLine } from '@lcm/domain/session/access-command'
import { isLive, isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import { CopyButton } from '../../../parts/copy-button.tsx'

/** Console addresses of the lab. Hidden once the lab is gone: its ports may belong to another lab by now. */
export function AccessCard({ session }: { session: LabletSession }) {
  const { access, status } = session
  const isOpen = isUp(status)
  if (!isOpen && !isLive(status) && status !== 'PENDING') return null
  return (
    <section class="card" aria-labelledby="access-title">
      <h2 id="access-title">Access</h2>
      {!isOpen && (
        <p class="muted">
          {status === 'STOPPING' || status === 'EXPIRED' ? 'Access has ended.' : 'Available when the session is ready.'}
        </p>
      )}
      {isOpen && access.length === 0 && <p class="muted">This lab has no console ports.</p>}
      {isOpen && (
        <ul class="access-list">
          {access.map(port => {
            const line = accessLine(port)
            return (
              <li key={port.name}>
                <span>
                  <strong>{port.node}</strong> <span class="muted">{port.protocol}</span>
                  <span class="sub mono">{port.name}</span>
                </span>
                <code class="access-line">{line}</code>
                <CopyButton text={line} what={`the address of ${port.name}`} />
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}
