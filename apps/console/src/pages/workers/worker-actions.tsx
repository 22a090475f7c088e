import type { Worker } from '@lcm/domain/worker/worker'
import type { Verb } from '../asks.ts'
import { isAllowed } from '../permission.ts'
import { useConsole } from './wiring.ts'

const VERB_LABELS: Readonly<Record<Verb, string>> = { start: 'Start', stop: 'Stop', terminate: 'Terminate' }

/** A worker wanted TERMINATED can't be wanted otherwise any more, so then only the past choice is shown. */
export function WorkerActions({ worker }: { worker: Worker }) {
  const { state, asks, dialog } = useConsole()
  if (worker.status === 'TERMINATED' || !isAllowed(state.info.value, 'terminateWorker')) return null
  const turn: Verb = worker.desired_status === 'RUNNING' ? 'stop' : 'start'
  const confirm = () => {
    dialog.value = { kind: 'terminate', id: worker.id }
  }
  return (
    <span class="actions">
      {worker.desired_status !== 'TERMINATED' && (
        <VerbButton key="turn" worker={worker} verb={turn} bar={null} onPress={() => asks.ask(worker, turn)} />
      )}
      <VerbButton key="end" worker={worker} verb="terminate" bar={terminateBar(worker)} onPress={confirm} />
    </span>
  )
}

function terminateBar(worker: Worker): string | null {
  if (worker.desired_status === 'TERMINATED') return 'It is on its way out'
  return worker.protected ? 'It is protected: remove the protection first' : null
}

interface VerbButtonProps {
  readonly worker: Worker
  readonly verb: Verb
  /** Why it can't be pressed; null when it can. */
  readonly bar: string | null
  readonly onPress: () => void
}

/** A barred button keeps the keyboard's focus, which `disabled` would throw away. */
function VerbButton({ worker, verb, bar, onPress }: VerbButtonProps) {
  const { asks } = useConsole()
  const asked = asks.verbOf(worker)
  const isBarred = bar !== null || asked !== null
  return (
    <button
      type="button"
      class={`button small ${verb === 'terminate' ? 'danger' : ''} ${asked === verb ? 'asked' : ''}`}
      aria-disabled={isBarred}
      title={bar ?? undefined}
      onClick={() => !isBarred && onPress()}
    >
      {asked === verb ? 'Asked…' : VERB_LABELS[verb]}
      <span class="sr-only"> {worker.name}</span>
    </button>
  )
}
