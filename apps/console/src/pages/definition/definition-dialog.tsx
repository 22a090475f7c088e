import { DefinitionName } from '@lcm/domain/definition/lablet-definition'
import { type Signal, useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { FormDialog } from '../../parts/dialog/form-dialog.tsx'
import { Modal } from '../../parts/dialog/modal.tsx'
import { useRead } from '../../parts/use-read.ts'
import type { Notices } from '../../state/notices.ts'
import { definitionHash } from '../../state/router.ts'
import { bodyOf, type DefinitionDraft, draftOf, EMPTY_DRAFT, isComplete, nameFromFile } from './definition-draft.ts'
import { YamlField } from './yaml-field.tsx'
import { wrongLines } from './yaml-lines.ts'

type Definition = Parameters<typeof draftOf>[0]
type Wrong = ReadonlyMap<number, string>

/** `wrong` holds the API's errors by line, cleared when the text changes. */
interface DraftProps {
  readonly draft: Signal<DefinitionDraft>
  readonly wrong: Signal<Wrong>
}

const useDraft = (first: DefinitionDraft): DraftProps => ({
  draft: useSignal(first),
  wrong: useSignal<Wrong>(new Map()),
})

/** Stores the lines that the API rejected, so that the editor can mark them. */
async function keepingLineErrors<T>({ wrong }: DraftProps, sending: Promise<T>): Promise<T> {
  wrong.value = new Map()
  try {
    return await sending
  } catch (error) {
    wrong.value = wrongLines(error)
    throw error
  }
}

/** What the API warns of stays on screen after the form has closed. */
function warnedBy<D extends Pick<Definition, 'name' | 'warnings'>>(notices: Notices, definition: D): D {
  for (const { message } of definition.warnings)
    notices.show('refused', `${definition.name} can't run yet`, `It is saved, but ${message}.`)
  return definition
}

export function CreateDialog() {
  const { requests, notices } = useConsole()
  const props = useDraft(EMPTY_DRAFT)
  const draft = props.draft.value
  const body = { ...bodyOf(draft, null), name: draft.name }
  const isNamed = DefinitionName.safeParse(draft.name).success
  return (
    <FormDialog
      title="Create definition"
      verb="Create definition"
      isComplete={isComplete(draft) && isNamed}
      send={() =>
        keepingLineErrors(
          props,
          requests.create('definition', draft.name, async client =>
            warnedBy(notices, await client.call('createDefinition', { body })),
          ),
        )
      }
    >
      <DraftFields {...props} isNew />
    </FormDialog>
  )
}

/** Loads the definition first: lists don't include its topology. */
export function EditDialog({ id }: { id: string }) {
  const known = useRead(`edit ${id}`, (client, signal) => client.call('getDefinition', { params: { id }, signal }))
  if (known.value !== null) return <EditForm known={known.value} />
  return (
    <Modal title="New version">
      <p class="modal-body muted">{known.error ?? 'Loading the definition…'}</p>
    </Modal>
  )
}

function EditForm({ known: newest }: { known: Definition }) {
  const { requests, notices } = useConsole()
  // The definition may be reloaded while the user types: the patch is relative to the first version.
  const known = useRef(newest).current
  const props = useDraft(draftOf(known))
  const draft = props.draft.value
  const isInPlace = known.status === 'PENDING_SYNC'
  const send = async (isShown: () => boolean) => {
    const call = { params: { id: known.id }, ifMatch: known.version, body: bodyOf(draft, known) }
    const put = requests.create('definition', known.name, client => client.call('putDefinition', call))
    const id = await keepingLineErrors(props, put)
    if (id === known.id && !isInPlace) notices.show('done', `${known.name} is unchanged`, 'There was nothing to save.')
    else if (isShown()) location.hash = definitionHash(id)
  }
  return (
    <FormDialog
      title={isInPlace ? `Change ${known.name} ${known.definition_version}` : `New version of ${known.name}`}
      verb={isInPlace ? 'Save' : 'Create version'}
      isComplete={isComplete(draft)}
      send={send}
    >
      {!isInPlace && (
        <p class="muted">
          Sessions that booked {known.definition_version} keep it. It accepts no new bookings once the new version can
          be booked.
        </p>
      )}
      <DraftFields {...props} isNew={false} />
    </FormDialog>
  )
}

function DraftFields({ draft, wrong, isNew }: DraftProps & { isNew: boolean }) {
  const set = (changes: Partial<DefinitionDraft>) => {
    draft.value = { ...draft.value, ...changes }
    if (changes.topology !== undefined) wrong.value = new Map()
  }
  const { name, title, from, source, minutes, reuse, saves } = draft.value
  return (
    <>
      {isNew && <NameField name={name} set={set} />}
      <fieldset class="field">
        <legend>Topology</legend>
        <span class="either">
          <RadioOption label="Text or file" isChosen={from === 'text'} onChoose={() => set({ from: 'text' })} />
          <RadioOption
            label="Fetch from a URL"
            isChosen={from === 'address'}
            onChoose={() => set({ from: 'address' })}
          />
        </span>
      </fieldset>
      {from === 'text' ? (
        <YamlField
          text={draft.value.topology}
          wrong={wrong.value}
          onText={(topology, file) =>
            set(file === null || name !== '' ? { topology } : { topology, name: nameFromFile(file) })
          }
        />
      ) : (
        <TextField
          label="URL"
          hint="https://, s3:// or file: of a YAML file, or a zip that contains one"
          value={source}
          onText={text => set({ source: text })}
        />
      )}
      <TextField label="Title" hint="optional" value={title} onText={text => set({ title: text })} />
      <TextField label="Maximum duration" hint="minutes" value={minutes} onText={text => set({ minutes: text })} />
      <label class="check">
        <input type="checkbox" checked={saves} onChange={event => set({ saves: event.currentTarget.checked })} />
        <span>Save the work of learners, so that they can continue later</span>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={reuse && !saves}
          disabled={saves}
          onChange={event => set({ reuse: event.currentTarget.checked })}
        />
        <span>Wipe the lab and reuse it for the next session{saves && ' (only without saves)'}</span>
      </label>
    </>
  )
}

interface NameProps {
  readonly name: string
  readonly set: (changes: Partial<DefinitionDraft>) => void
}

const NameField = ({ name, set }: NameProps) => (
  <TextField
    label="Name"
    hint={
      name === '' || DefinitionName.safeParse(name).success
        ? 'used to book sessions'
        : 'lowercase letters, digits and dashes only'
    }
    value={name}
    onText={text => set({ name: text })}
  />
)

interface EitherProps {
  readonly label: string
  readonly isChosen: boolean
  readonly onChoose: () => void
}

const RadioOption = ({ label, isChosen, onChoose }: EitherProps) => (
  <label class="check">
    <input type="radio" name="from" checked={isChosen} onChange={onChoose} />
    <span>{label}</span>
  </label>
)

interface TextProps {
  readonly label: string
  readonly hint: string
  readonly value: string
  readonly onText: (text: string) => void
}

const TextField = ({ label, hint, value, onText }: TextProps) => (
  <label class="field">
    <span>
      {label} <span class="muted">{hint}</span>
    </span>
    <input
      type="text"
      autocomplete="off"
      spellcheck={false}
      value={value}
      onInput={event => onText(event.currentTarget.value)}
    />
  </label>
)
