import type { DecisionRecord } from '@lcm/domain/journal-records'
import { actionWords } from '@lcm/domain/text/action-words'
import { useConsole } from '../../parts/console-context.ts'
import { NamedIcon } from '../../parts/icons.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { resourceLinkOf } from '../../state/resource-link.ts'
import { timeText } from '../../state/time-format.ts'
import { feedOf, type UserAction } from './decision-feed.ts'

const SHOWN_MAX = 60

/** Faults injected on this page and LCM's decisions in one list. */
export function DecisionFeedCard({ userActions }: { userActions: readonly UserAction[] }) {
  const { state } = useConsole()
  const feed = feedOf(userActions, state.decisions.all()).slice(0, SHOWN_MAX)
  return (
    <section class="card feed" aria-labelledby="feed-title">
      <h2 id="feed-title">
        Decisions <span class="muted">live</span>
      </h2>
      {feed.length === 0 ? (
        <p class="muted">No decisions since this page was opened. Stop a machine to see how LCM reacts.</p>
      ) : (
        <ScrollBox label="Decisions">
          <ol class="feed-list">
            {feed.map(item =>
              'userAction' in item ? (
                <UserActionLine key={item.userAction.id} action={item.userAction} />
              ) : (
                <DecisionLine key={item.decision.id} atMs={item.atMs} decision={item.decision} />
              ),
            )}
          </ol>
        </ScrollBox>
      )}
    </section>
  )
}

const UserActionLine = ({ action: { atMs, text } }: { action: UserAction }) => (
  <li class="feed-line user-action">
    <Timestamp at={atMs} text={timeText} />
    <p>
      <NamedIcon name="flask" />
      <span>
        <strong>You</strong> {text}
      </span>
    </p>
  </li>
)

function DecisionLine({ atMs, decision }: { atMs: number; decision: DecisionRecord }) {
  const { state } = useConsole()
  const { kind, name, href } = resourceLinkOf(decision.resource, state.live)
  return (
    <li class="feed-line">
      <Timestamp at={atMs} text={timeText} />
      <p>
        <strong class="decision-action">{actionWords(decision.action)}</strong> <span class="muted">{kind}</span>{' '}
        {href === null ? name : <a href={href}>{name}</a>}
      </p>
      <p class="feed-because" title={decision.because.code}>
        {decision.because.message}
      </p>
      {decision.outcome !== '' && <p class="feed-because muted">{decision.outcome}</p>}
    </li>
  )
}
