import type { DecisionRecord } from '@lcm/domain/decision'
import { actionWords } from '@lcm/domain/text/decision-words'
import { useConsole } from '../../parts/console-context.ts'
import { NamedIcon } from '../../parts/icons.tsx'
import { ScrollBox } from '../../parts/table/scroll-box.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { resourceLinkOf } from '../../state/resource-link.ts'
import { timeText } from '../../state/time-format.ts'
import { feedOf, type UserAction } from './sim-state.ts'

const SHOWN_MAX = 60

/** What was done here, and what LCM made of it: cause and effect in one list. */
export function DecisionFeedCard({ deeds }: { deeds: readonly UserAction[] }) {
  const { state } = useConsole()
  const feed = feedOf(deeds, state.decisions.all()).slice(0, SHOWN_MAX)
  return (
    <section class="card feed" aria-labelledby="feed-title">
      <h2 id="feed-title">
        What LCM decides <span class="muted">live</span>
      </h2>
      {feed.length === 0 ? (
        <p class="muted">Nothing since this page was opened: all is as it is wanted. Stop a machine and look here.</p>
      ) : (
        <ScrollBox label="What LCM decides">
          <ol class="feed-list">
            {feed.map(item =>
              'deed' in item ? (
                <UserActionLine key={item.deed.id} deed={item.deed} />
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

const UserActionLine = ({ deed: { atMs, text } }: { deed: UserAction }) => (
  <li class="feed-line deed">
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
      <p class="feed-because">{decision.because}</p>
      {decision.outcome !== '' && decision.outcome !== decision.because && (
        <p class="feed-because muted">{decision.outcome}</p>
      )}
    </li>
  )
}
