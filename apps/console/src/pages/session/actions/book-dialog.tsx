import type { Client } from '@lcm/client/client'
import type { AnswerOf } from '@lcm/contract/routes'
import type { Save } from '@lcm/domain/save/save'
import { savedNodesText } from '@lcm/domain/save/save-text'
import { type Signal, useSignal } from '@preact/signals'
import { AdmissionPreview } from '../../../parts/admission-preview.tsx'
import { useConsole } from '../../../parts/console-context.ts'
import { FormDialog } from '../../../parts/dialog/form-dialog.tsx'
import { PlacementPreview } from '../../../parts/placement-preview.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { readsAsLearner } from '../../../state/permission.ts'
import { pageHash, sessionHash } from '../../../state/router.ts'
import { zoneText } from '../../../state/time-format.ts'
import { type BookingDraft, bookingBody, bookingFault, localMinute, seatsBody, timeOf } from './booking-draft.ts'
import { MinutesField } from './minutes-field.tsx'
import { QuotaLine } from './quota-line.tsx'
import { SeatsField } from './seats-field.tsx'

type Definition = AnswerOf<'listDefinitions'>['items'][number]

const HOUR_MS = 3_600_000

interface BookProps {
  /** Preselects a definition. */
  readonly definitionId?: string
  /** Continues with this save, in its version of the definition. */
  readonly resume?: Save
}

export function BookDialog({ definitionId, resume }: BookProps) {
  const { state, requests, nowMs } = useConsole()
  const definitions = bookable(state.live.definition.all().values())
  const chosen = useSignal(definitionId ?? definitions[0]?.id ?? '')
  const start = useSignal<string | null>(null)
  const definition = resume
    ? state.live.definition.get(resume.definition.id)
    : definitions.find(({ id }) => id === chosen.value)
  const max = definition?.max_duration_minutes ?? 1
  const minutes = useSignal<number | null>(max)
  const seats = useSignal<number | null>(1)
  const isBestEffort = useSignal(false)
  const draft = {
    definitionId: definition?.id ?? '',
    start: start.value,
    minutes: minutes.value,
    seats: seats.value,
    isBestEffort: isBestEffort.value,
    saveId: resume?.id,
  }
  const fault = bookingFault(draft, max, nowMs.peek())
  const choose = (id: string) => {
    chosen.value = id
    minutes.value = definitions.find(each => each.id === id)?.max_duration_minutes ?? null
  }
  return (
    <FormDialog
      title={resume ? 'Continue where you left off' : 'Book a session'}
      verb="Book"
      isComplete={fault === null}
      send={async isShown => {
        const id = await requests.create('session', definition?.name ?? '', client => sendBooking(client, draft))
        if (resume && isShown()) location.hash = sessionHash(id)
      }}
    >
      {resume ? (
        <ResumedSave save={resume} />
      ) : (
        <DefinitionField definitions={definitions} chosen={chosen.value} onChoose={choose} />
      )}
      <StartField start={start} />
      {resume && !definition && <p class="field-fault tone-red">Its definition was deleted. Download the save.</p>}
      {definition && <MinutesField minutes={minutes} max={max} label="Minutes" />}
      {!resume && !readsAsLearner(state.info.value) && <SeatsField seats={seats} />}
      {fault !== null && definition && <p class="field-fault tone-red">{fault}.</p>}
      <QuotaLine isLater={start.value !== null} />
      {definition && fault === null && (
        <AdmissionPreview
          definitionId={definition.id}
          booking={{ ...timeOf(draft), seats: draft.seats ?? 1 }}
          isBestEffort={isBestEffort.value}
          onStart={at => {
            start.value = localMinute(Date.parse(at))
          }}
          onBestEffort={chosen => {
            isBestEffort.value = chosen
          }}
        />
      )}
      {definition && start.value === null && <PlacementPreview definitionId={definition.id} />}
    </FormDialog>
  )
}

/** The first session of a booking of several seats stands for all. */
async function sendBooking(client: Client, draft: BookingDraft): Promise<{ readonly id: string }> {
  const { seats } = draft
  if (seats === null || seats === 1) return client.call('createSession', { body: bookingBody(draft) })
  const { items } = await client.call('createSessions', { body: seatsBody(draft, seats) })
  return { id: items[0]?.id ?? '' }
}

const ResumedSave = ({ save: { definition, created_at, nodes } }: { save: Save }) => (
  <p>
    The nodes of {definition.name} {definition.version} start with the configurations saved at{' '}
    <Timestamp at={created_at} /> ({savedNodesText(nodes)}).
  </p>
)

/** ACTIVE definitions, newest version first. */
const bookable = (all: Iterable<Definition>): Definition[] =>
  [...all]
    .filter(({ status }) => status === 'ACTIVE')
    .toSorted((a, b) => a.name.localeCompare(b.name) || b.created_at.localeCompare(a.created_at))

interface DefinitionFieldProps {
  readonly definitions: readonly Definition[]
  readonly chosen: string
  readonly onChoose: (id: string) => void
}

function DefinitionField({ definitions, chosen, onChoose }: DefinitionFieldProps) {
  if (definitions.length === 0)
    return (
      <p class="muted">
        There are no definitions yet. <a href={pageHash('definitions')}>Create a definition first</a>.
      </p>
    )
  return (
    <label class="field">
      <span>Definition</span>
      <select value={chosen} onChange={event => onChoose(event.currentTarget.value)}>
        {definitions.map(({ id, name, definition_version, needs }) => (
          <option key={id} value={id}>
            {name} {definition_version} · {needs.cpu_cores} cpu, {needs.memory_gb} GB
          </option>
        ))}
      </select>
    </label>
  )
}

function StartField({ start }: { start: Signal<string | null> }) {
  const { nowMs } = useConsole()
  return (
    <fieldset class="field">
      <legend>Start</legend>
      <span class="start-choice">
        <label>
          <input
            type="radio"
            name="start"
            checked={start.value === null}
            onChange={() => {
              start.value = null
            }}
          />
          Now
        </label>
        <label>
          <input
            type="radio"
            name="start"
            checked={start.value !== null}
            onChange={() => {
              start.value = localMinute(Math.ceil(nowMs.peek() / HOUR_MS) * HOUR_MS)
            }}
          />
          Later
        </label>
        {start.value !== null && (
          <input
            type="datetime-local"
            aria-label="Date and time"
            value={start.value}
            onInput={event => {
              start.value = event.currentTarget.value
            }}
          />
        )}
        {start.value !== null && <span class="muted">{zoneText(nowMs.peek())}</span>}
      </span>
    </fieldset>
  )
}
