import { ApiError, type Client } from '@lcm/client/client'
import { CapacityChange } from '@lcm/contract/calendar/capacity-preview'
import type { AnswerOf } from '@lcm/contract/routes'
import { type SettingName, wordOfSetting } from '@lcm/domain/fleet/settings'
import { type Signal, useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { capacityLossDialog } from '../../parts/dialog/capacity-loss.tsx'
import { Refusal } from '../../parts/dialog/modal.tsx'
import { failureText } from '../../state/failure-text.ts'
import { isAllowed } from '../../state/permission.ts'
import { choicesOf, isText, SETTING_DOCS } from './setting-docs.ts'
import {
  changedText,
  draftOf,
  patchOf,
  type SettingValue,
  SOURCE_TEXTS,
  sameAs,
  typedValue,
  valueText,
} from './setting-values.ts'

type SettingsView = AnswerOf<'getSettings'>
type Setting = SettingsView['settings'][SettingName]

interface RowProps {
  readonly name: SettingName
  readonly setting: Setting
  readonly version: number
  readonly onSaved: (view: SettingsView) => void
  readonly onRefused: () => void
}

export function SettingRow(props: RowProps) {
  const { name, setting } = props
  const { state } = useConsole()
  const isEdited = useSignal(false)
  const edit = useRef<HTMLButtonElement>(null)
  const { title, text } = SETTING_DOCS[name]
  const close = () => {
    isEdited.value = false
    // The button exists again after the next render.
    requestAnimationFrame(() => edit.current?.focus())
  }
  return (
    <div class="setting">
      <div class="setting-about">
        <h3 id={`setting-${name}`}>{title}</h3>
        <p class="muted">{text}</p>
        <code>{name}</code>
      </div>
      {isEdited.value ? (
        <Editor {...props} onClose={close} />
      ) : (
        <div class="setting-now">
          <p class="setting-value number">{valueText(name, setting.value)}</p>
          <p class="muted setting-same">{sameAs(name, draftOf(setting.value))}</p>
          <span class={`setting-source ${setting.source}`}>{SOURCE_TEXTS[setting.source]}</span>
          {isAllowed(state.info.value, 'patchSettings') && (
            <button
              ref={edit}
              type="button"
              class="button small"
              onClick={() => {
                isEdited.value = true
              }}
            >
              Edit<span class="sr-only"> {title}</span>
            </button>
          )}
        </div>
      )}
    </div>
  )
}

function Editor({ name, setting, version, onSaved, onRefused, onClose }: RowProps & { onClose: () => void }) {
  const { client, notices, dialog } = useConsole()
  const draft = useSignal(draftOf(setting.value))
  // The value that the user knows. The version can't tell, because it grows with other settings too.
  const known = useRef(setting)
  const isSending = useSignal(false)
  const refusal = useSignal<string | null>(null)
  const send = async (value: SettingValue | null) => {
    if (isSending.peek()) return
    refusal.value = changedText(name, known.current, setting)
    known.current = setting
    if (refusal.peek() !== null) return
    isSending.value = true
    try {
      onSaved(await client.call('patchSettings', { body: patchOf(name, value), ifMatch: version }))
      notices.show('done', `${SETTING_DOCS[name].title} saved`)
      onClose()
    } catch (error) {
      refusal.value = refusalText(error)
      onRefused()
    } finally {
      isSending.value = false
    }
  }
  /** Lists the booked sessions that would lose their capacity before it sends the value. */
  const sendConfirmed = async (value: SettingValue | null) => {
    try {
      const to = value === null ? 'its default' : valueText(name, value)
      const title = `Set ${SETTING_DOCS[name].title} to ${to}?`
      const question = await lossDialog(client, title, patchOf(name, value), () => void send(value))
      if (question === null) await send(value)
      else dialog.value = question
    } catch (error) {
      refusal.value = refusalText(error)
    }
  }
  const submit = (event: Event) => {
    event.preventDefault()
    // The current input may be newer than the last render.
    const value = typedValue(name, draft.peek())
    if (value !== null) void sendConfirmed(value)
  }
  return (
    <form class="setting-edit" onSubmit={submit} onKeyDown={event => event.key === 'Escape' && onClose()}>
      <ValueField
        name={name}
        draft={draft}
        onTyped={() => {
          refusal.value = null
        }}
      />
      <div class="setting-buttons">
        <button type="submit" class="button small primary" disabled={typedValue(name, draft.value) === null}>
          {isSending.value ? 'Saving…' : 'Save'}
        </button>
        <button type="button" class="button small" onClick={onClose}>
          Cancel
        </button>
        {setting.source === 'given' && (
          <button type="button" class="button small" onClick={() => void sendConfirmed(null)}>
            Reset
          </button>
        )}
      </div>
      {typedValue(name, draft.value) === null && <p class="field-fault tone-red">{expectedText(name)}</p>}
      {refusal.value !== null && <Refusal>{refusal.value}</Refusal>}
    </form>
  )
}

/** Null if the change takes no promised capacity. */
async function lossDialog(client: Client, title: string, patch: object, onConfirm: () => void): Promise<VNode | null> {
  const { success, data: settings } = CapacityChange.shape.settings.safeParse(patch)
  const asked = { title, verb: 'Change anyway', onConfirm }
  return success ? capacityLossDialog(client, { ...asked, change: { settings } }) : null
}

function expectedText(name: SettingName): string {
  if (isText(name)) return 'Enter a value.'
  const word = wordOfSetting(name)
  return word === null ? 'Enter a number.' : `Enter a number, or ${word}.`
}

/** Error of the value, without its path in the request. */
const refusalText = (error: unknown): string =>
  error instanceof ApiError && error.problem.errors?.[0] ? error.problem.errors[0].message : failureText(error)

interface ValueFieldProps {
  readonly name: SettingName
  readonly draft: Signal<string>
  /** Clears the error of the previous value. */
  readonly onTyped: () => void
}

function ValueField({ name, draft, onTyped }: ValueFieldProps) {
  const field = useRef<HTMLInputElement & HTMLSelectElement>(null)
  useEffect(() => field.current?.focus(), [])
  const choices = choicesOf(name)
  const onInput = (event: { currentTarget: { value: string } }) => {
    draft.value = event.currentTarget.value
    onTyped()
  }
  if (choices !== null)
    return (
      <select ref={field} aria-labelledby={`setting-${name}`} value={draft} onChange={onInput}>
        {choices.map(choice => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    )
  return (
    <label class="setting-number">
      <input
        ref={field}
        type="text"
        inputMode={wordOfSetting(name) !== null || isText(name) ? 'text' : 'decimal'}
        autocomplete="off"
        aria-labelledby={`setting-${name}`}
        value={draft}
        onInput={onInput}
      />
      <span class="muted">
        {SETTING_DOCS[name].unit} {sameAs(name, draft.value) && `= ${sameAs(name, draft.value)}`}
      </span>
    </label>
  )
}
