import { type FaultState, type NextFault, PRESETS, type Preset } from '@lcm/client/sim-client'
import { scriptText } from '@lcm/client/sim-worker-pairs'
import { useSignal } from '@preact/signals'
import type { Read } from '../../parts/use-read.ts'
import { activeFaults } from './active-faults.ts'
import type { Sim } from './use-sim.ts'

interface FaultsProps {
  readonly sim: Sim
  readonly faults: Read<FaultState>
}

const PRESET_TEXTS: Readonly<Record<Preset, string>> = {
  calm: 'No faults, only EC2’s own limits',
  realistic: 'Fault rates of a normal day',
  hostile: 'All faults at high rates',
}

/** Fault rates of the simulated AWS, and faults for its next calls. */
export function FaultsCard({ sim, faults }: FaultsProps) {
  return (
    <section class="card faults-card" aria-labelledby="faults-title">
      <h2 id="faults-title">AWS faults</h2>
      {faults.error !== null && (
        <p class="read-failed" role="alert">
          Could not reach the simulated cloud: {faults.error}
        </p>
      )}
      <fieldset class="presets">
        <legend class="sr-only">Preset</legend>
        {PRESETS.map(preset => (
          <button
            key={preset}
            type="button"
            class="preset"
            aria-pressed={faults.value?.preset === preset}
            onClick={() => sim.change(`switched the cloud to ${preset}`, client => client.patch({ preset }))}
          >
            <strong>{preset}</strong>
            <span class="muted">{PRESET_TEXTS[preset]}</span>
          </button>
        ))}
      </fieldset>
      {faults.value !== null && <ActiveFaults faults={faults.value} />}
      <NextCalls sim={sim} faults={faults.value} />
    </section>
  )
}

function ActiveFaults({ faults }: { faults: FaultState }) {
  const active = activeFaults(faults)
  if (active.length === 0) return <p class="muted">All calls succeed.</p>
  return (
    <ul class="fault-list">
      {active.map(line => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  )
}

const ACTIONS = [
  'DescribeInstances',
  'RunInstances',
  'StartInstances',
  'StopInstances',
  'TerminateInstances',
  'CreateTags',
  'DescribeInstanceStatus',
] as const

interface FaultKind {
  readonly key: string
  readonly words: string
  readonly next: NextFault
}
const error = (code: string, status: number): NextFault => ({ error: { code, status } })
const THROTTLED: FaultKind = { key: 'throttle', words: 'are throttled', next: error('RequestLimitExceeded', 503) }
const FAULT_KINDS: readonly FaultKind[] = [
  THROTTLED,
  { key: 'lost_answer', words: 'lose their response', next: { fault: 'lost_answer' } },
  { key: 'lost_request', words: 'are lost before they take effect', next: { fault: 'lost_request' } },
  { key: 'empty', words: 'return an empty response', next: { fault: 'empty' } },
  { key: 'internal', words: 'return 500', next: error('InternalError', 500) },
  { key: 'capacity', words: 'fail for lack of capacity', next: error('InsufficientInstanceCapacity', 500) },
]
const COUNTS = [1, 3, 10, 50] as const

function NextCalls({ sim, faults }: { sim: Sim; faults: FaultState | null }) {
  const times = useSignal(3)
  const action = useSignal<string>('DescribeInstances')
  const kind = useSignal(THROTTLED.key)
  const set = (event: Event) => {
    event.preventDefault()
    const { words, next } = FAULT_KINDS.find(({ key }) => key === kind.value) ?? THROTTLED
    sim.change(`made the next ${times.value} ${action.value} ${words.replace(/^are /, 'be ')}`, client =>
      client.script(action.value, times.value, next),
    )
  }
  return (
    <form class="next-calls" onSubmit={set}>
      <span>The next</span>
      <Choice
        label="Number of calls"
        value={String(times.value)}
        options={COUNTS.map(count => [String(count), String(count)])}
        onChoose={value => {
          times.value = Number(value)
        }}
      />
      <Choice
        label="API call"
        value={action.value}
        options={ACTIONS.map(name => [name, name])}
        onChoose={value => {
          action.value = value
        }}
      />
      <Choice
        label="Fault"
        value={kind.value}
        options={FAULT_KINDS.map(({ key, words }) => [key, words])}
        onChoose={value => {
          kind.value = value
        }}
      />
      <button type="submit" class="button small">
        Apply
      </button>
      <PendingFaults sim={sim} faults={faults} />
    </form>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly options: readonly (readonly [string, string])[]
  readonly onChoose: (value: string) => void
}

const Choice = ({ label, value, options, onChoose }: ChoiceProps) => (
  <label class="pick">
    <span class="sr-only">{label}</span>
    <select value={value} onChange={event => onChoose(event.currentTarget.value)}>
      {options.map(([key, words]) => (
        <option key={key} value={key}>
          {words}
        </option>
      ))}
    </select>
  </label>
)

/** Faults that wait for their calls. */
function PendingFaults({ sim, faults }: { sim: Sim; faults: FaultState | null }) {
  if (faults === null || faults.scripted.length === 0) return null
  return (
    <div class="scripted">
      <ul aria-label="Pending faults">
        {faults.scripted.map(scripted => (
          <li key={scriptText(scripted)} class="number">
            {scriptText(scripted)}
          </li>
        ))}
      </ul>
      <button
        type="button"
        class="button small"
        onClick={() => sim.change('cleared all faults except those of the preset', client => client.reset())}
      >
        Clear
      </button>
    </div>
  )
}
