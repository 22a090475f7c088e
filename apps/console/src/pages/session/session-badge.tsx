import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { NamedIcon } from '../../parts/icons.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { isCanceled } from './session-text.ts'

/** Status of the session, and its desired status if it was canceled. */
export const SessionBadge = ({ session }: { session: LabletSession }) => (
  <span class="status">
    <StatusBadge status={session.status} />
    {isCanceled(session) && (
      <span class="desired">
        <NamedIcon name="arrow" />
        <span class="sr-only">desired: </span>
        {session.desired_status}
      </span>
    )}
  </span>
)
