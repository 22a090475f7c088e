import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { useConsole } from '../../parts/console-context.ts'
import { ownerText, shortened } from './session-text.ts'

/** Name of the owner, or the shortened id without a name. The tooltip shows the full id. */
export function Owner({ session }: { session: LabletSession }) {
  const { state } = useConsole()
  const text = ownerText(session, state.info.value?.actor)
  return <span title={session.owner}>{text === session.owner ? shortened(text) : text}</span>
}
