import type { Client } from '@lcm/client/client'
import { readList } from '@lcm/client/list-pages'
import { toMs } from '@lcm/domain/instant'
import type { Save } from '@lcm/domain/save/save'
import { lastSaveText, savedNodesText, saveSizeText } from '@lcm/domain/save/save-text'
import { isFinal, isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import { durationText } from '@lcm/domain/text/format-amounts'
import { useConsole } from '../../../parts/console-context.ts'
import { ConfirmDialog } from '../../../parts/dialog/confirm-dialog.tsx'
import { sentenceText } from '../../../parts/sentence.tsx'
import { Timestamp } from '../../../parts/timestamp.tsx'
import { useRead } from '../../../parts/use-read.ts'
import { failureText } from '../../../state/failure-text.ts'
import { BookDialog } from '../actions/book-dialog.tsx'
import { mayAct } from '../actions/session-actions.ts'
import { requestAction } from '../actions/session-requests.ts'

/** The saved work of a session. Hidden before it has a lab. */
export function SavesCard({ session }: { session: LabletSession }) {
  const { state, nowMs } = useConsole()
  const { id, definition, status } = session
  const read = useRead(
    `saves of ${id}`,
    async (client, signal) =>
      (await readList(page => client.call('listSaves', { query: { ...page, session_id: id }, signal }))).items,
    { updatesOf: 'saves' },
  )
  const saves = (read.value ?? []).toSorted((a, b) => b.number - a.number)
  if (!isUp(status) && saves.length === 0) return null
  const isOff = state.live.definition.get(definition.id)?.saves_enabled === false
  const ago = (at: string) => `${durationText(nowMs.value - toMs(at))} ago`
  const last = lastSaveText(session.save, saves[0] ?? null, ago)
  const may = mayAct(state.info.value, session)
  return (
    <section class="card saves" aria-labelledby="saves-title">
      <header class="saves-head">
        <h2 id="saves-title">Saved work</h2>
        {may && isUp(status) && !isOff && <SaveButton session={session} />}
        {may && isFinal(status) && saves[0] && <ContinueButton save={saves[0]} />}
      </header>
      <p class="muted">{isOff && saves.length === 0 ? 'Saves are off for this lab.' : sentenceText(last ?? NOT_YET)}</p>
      {read.error !== null && <p class="field-fault tone-red">The saves could not be loaded: {read.error}.</p>}
      {saves.length > 0 && (
        <ul class="save-list">
          {saves.map(save => (
            <SaveRow key={save.id} save={save} may={may} onChanged={read.reload} />
          ))}
        </ul>
      )}
    </section>
  )
}

const NOT_YET = 'not saved yet'

/** A request that waits is shown by the session itself. */
function SaveButton({ session }: { session: LabletSession }) {
  const { requests } = useConsole()
  const isWaiting = session.save.requested_at !== null || requests.pendingVerbOf(session.id) === 'save'
  return (
    <button
      type="button"
      class={`button small ${isWaiting ? 'requested' : ''}`}
      aria-disabled={isWaiting}
      title="Save the configurations of all nodes now. The lab keeps running"
      onClick={() => !isWaiting && requestAction(requests, session, 'save')}
    >
      {isWaiting ? 'Saving…' : 'Save now'}
    </button>
  )
}

function ContinueButton({ save }: { save: Save }) {
  const { dialog } = useConsole()
  const open = () => {
    dialog.value = <BookDialog resume={save} />
  }
  return (
    <button type="button" class="button small primary" onClick={open}>
      Continue where I left off
    </button>
  )
}

const CAUSES: Readonly<Record<Save['cause'], string>> = {
  interval: 'automatically',
  request: 'on request',
  end: 'at the end',
}

interface RowProps {
  readonly save: Save
  readonly may: boolean
  readonly onChanged: () => void
}

const SaveRow = ({ save, may, onChanged }: RowProps) => (
  <li>
    <span>
      <Timestamp at={save.created_at} /> <span class="muted">{CAUSES[save.cause]}</span>
      <span class="sub">
        {savedNodesText(save.nodes)} · {saveSizeText(save)}
      </span>
    </span>
    {may && (
      <span class="actions">
        <DownloadButton save={save} />
        <DeleteButton save={save} onDeleted={onChanged} />
      </span>
    )}
  </li>
)

function DownloadButton({ save }: { save: Save }) {
  const { client, notices } = useConsole()
  const press = () =>
    download(client, save).catch((error: unknown) =>
      notices.show('refused', `Could not download save ${save.number}`, failureText(error)),
    )
  return (
    <button type="button" class="button small" onClick={press}>
      Download<span class="sr-only"> save {save.number}</span>
    </button>
  )
}

async function download(client: Client, { id, number, definition }: Save): Promise<void> {
  const { topology } = await client.call('getSaveTopology', { params: { id } })
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([topology], { type: 'application/yaml' }))
  link.download = `${definition.name}-save-${number}.yaml`
  link.click()
  URL.revokeObjectURL(link.href)
}

function DeleteButton({ save, onDeleted }: { save: Save; onDeleted: () => void }) {
  const { client, dialog, notices } = useConsole()
  const remove = async () => {
    try {
      await client.call('deleteSave', { params: { id: save.id } })
    } catch (error) {
      notices.show('refused', `Could not delete save ${save.number}`, failureText(error))
    }
    onDeleted()
  }
  const confirm = () => {
    dialog.value = (
      <ConfirmDialog title={`Delete save ${save.number}?`} verb="Delete" typed={null} onConfirm={remove}>
        <p>The saved configurations are deleted permanently. Other saves and the lab stay.</p>
      </ConfirmDialog>
    )
  }
  return (
    <button type="button" class="button small danger" onClick={confirm}>
      Delete<span class="sr-only"> save {save.number}</span>
    </button>
  )
}
