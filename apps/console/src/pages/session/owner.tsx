import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../parts/console-context.ts'
import { ownerText, shortened } from './session-text.ts'

/** Whose session it is, by name as far as it is known; the whole id when pointed at. */
export function Owner({ session }: { session: LabletSession }) {
  const { state } = useConsole()
  return <span title={session.owner}>{shortened(ownerText(session, state.info.value?.actor))}</span>
}
