import type { AffectedSession, AffectedSessions } from '@lcm/domain/fleet/affected-sessions'
import { toneOf } from '@lcm/domain/text/status-tone'
import { Age } from '../../parts/age.tsx'
import { useConsole } from '../../parts/console-context.ts'
import { StatusIcon } from '../../parts/icons.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { sessionHash } from '../../state/router.ts'
import { ownerText } from '../session/session-text.ts'

/** People who can't use their labs, by cause, with what an operator can do. */
export const AffectedList = ({ groups }: { groups: readonly AffectedSessions[] }) => (
  <ul class="affected-list">
    {groups.map(group => (
      <Group key={group.key} group={group} />
    ))}
  </ul>
)

/** Owners that are named before the list is opened. */
const NAMED_MAX = 3

function Group({ group: { health, headline, fix, sessions } }: { group: AffectedSessions }) {
  const owners = useOwners(sessions)
  const more = owners.length - NAMED_MAX
  const status = health === 'OK' ? 'PENDING' : health
  return (
    <li class={`affected tone-${toneOf(status)}`}>
      <p class="affected-headline" title={headline.code}>
        <span class="attention-what">
          <StatusIcon status={status} />
          {health === 'OK' ? 'Waiting' : health}
        </span>
        <strong>
          <Sentence text={headline.message} />
        </strong>
      </p>
      {fix !== null && (
        <p class="affected-fix">
          <Sentence text={fix.message} />
        </p>
      )}
      <details>
        <summary>
          {owners.slice(0, NAMED_MAX).join(', ')}
          {more > 0 && ` and ${more} more`}
        </summary>
        <ul class="affected-sessions">
          {sessions.map(each => (
            <Affected key={each.session.id} affected={each} />
          ))}
        </ul>
      </details>
    </li>
  )
}

function useOwners(sessions: readonly AffectedSession[]): string[] {
  const me = useConsole().state.info.value?.actor
  return [...new Set(sessions.map(({ session }) => ownerText(session, me)))]
}

function Affected({ affected: { session, since } }: { affected: AffectedSession }) {
  const me = useConsole().state.info.value?.actor
  return (
    <li>
      <a href={sessionHash(session.id)}>
        {ownerText(session, me)}, {session.definition.name}
      </a>{' '}
      <span class="muted">
        {session.status} for <Age since={since} />
      </span>
    </li>
  )
}
