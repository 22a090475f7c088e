import type { Worker } from '@lcm/domain/worker/worker'
import { useConsole } from '../../../parts/console-context.ts'
import { Menu } from '../../../parts/dialog/menu.tsx'
import { NamedIcon } from '../../../parts/icons.tsx'
import { isAllowed } from '../../../state/permission.ts'
import { useWorkerActs } from './use-worker-action.tsx'
import { ACT_WORDS, type Offer, offersOf, type WorkerAct } from './worker-actions.ts'

const isDanger = (act: WorkerAct): boolean => act === 'terminate' || act === 'remove'

/** In a row there is room for one; the rest is a press away. */
export function RowActions({ worker }: { worker: Worker }) {
  const { state } = useConsole()
  if (!isAllowed(state.info.value, 'terminateWorker')) return null
  const [first, ...rest] = offersOf(worker)
  return (
    <span class="actions">
      {first && <ActButton worker={worker} offer={first} />}
      {rest.length > 0 && <MoreButton worker={worker} offers={rest} />}
    </span>
  )
}

const ON_THE_PAGE: readonly WorkerAct[] = [
  'start',
  'stop',
  'drain',
  'cancel-drain',
  'retry',
  'refresh',
  'terminate',
  'remove',
]

export function PageActions({ worker }: { worker: Worker }) {
  const { state } = useConsole()
  if (!isAllowed(state.info.value, 'terminateWorker')) return null
  const offers = offersOf(worker)
  const rest = offers.filter(({ act }) => !ON_THE_PAGE.includes(act))
  return (
    <span class="actions">
      {offers
        .filter(({ act }) => ON_THE_PAGE.includes(act))
        .map(offer => (
          <ActButton key={offer.act} worker={worker} offer={offer} />
        ))}
      {rest.length > 0 && <MoreButton worker={worker} offers={rest} />}
    </span>
  )
}

/** A barred button keeps the keyboard's focus, which `disabled` would throw away. */
function ActButton({ worker, offer: { act, bar } }: { worker: Worker; offer: Offer }) {
  const { asks } = useConsole()
  const begin = useWorkerActs()
  const { label, verb, help } = ACT_WORDS[act]
  const asked = asks.verbOf(worker.id)
  const isBarred = bar !== null || asked !== null
  return (
    <button
      type="button"
      class={`button small ${isDanger(act) ? 'danger' : ''} ${asked === verb ? 'asked' : ''}`}
      aria-disabled={isBarred}
      aria-label={`${asked === verb ? 'Asked to' : ''} ${label} ${worker.name}`.trim()}
      title={bar ?? help}
      onClick={() => !isBarred && begin(worker, act)}
    >
      {asked === verb ? 'Asked…' : label}
    </button>
  )
}

function MoreButton({ worker, offers }: { worker: Worker; offers: readonly Offer[] }) {
  const { asks, dialog } = useConsole()
  const begin = useWorkerActs()
  const asked = asks.verbOf(worker.id)
  const isAsked = offers.some(({ act }) => ACT_WORDS[act].verb === asked)
  const open = (anchor: Element) => {
    const items = offers.map(({ act, bar }) => ({
      key: act,
      ...ACT_WORDS[act],
      isDanger: isDanger(act),
      bar: bar ?? (asks.verbOf(worker.id) === null ? null : 'Something else was asked of it just now'),
      onPick: () => begin(worker, act),
    }))
    dialog.value = <Menu label={`Actions for ${worker.name}`} anchor={anchor} items={items} />
  }
  return (
    <button
      type="button"
      class="button small icon-only more"
      aria-haspopup="dialog"
      aria-label={`${isAsked ? `Asked to ${asked}` : 'More actions for'} ${worker.name}`}
      title={isAsked ? `Asked to ${asked} it…` : 'More actions'}
      onClick={event => open(event.currentTarget)}
    >
      <NamedIcon name={isAsked ? 'waiting' : 'more'} />
    </button>
  )
}
