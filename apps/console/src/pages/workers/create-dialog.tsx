import { ApiError } from '@lcm/client/api-error'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { type Signal, useSignal } from '@preact/signals'
import { failureText, usdText } from '../wording.ts'
import { Modal, Refusal } from './modal.tsx'
import { useConsole } from './wiring.ts'

interface Draft {
  readonly template: Signal<string>
  readonly region: Signal<string>
  readonly name: Signal<string>
}

export function CreateDialog() {
  const { state, asks, dialog } = useConsole()
  const templates = [...state.templates.all().values()].toSorted((a, b) => a.name.localeCompare(b.name))
  const draft: Draft = {
    template: useSignal(templates.find(template => template.enabled)?.name ?? ''),
    region: useSignal(state.info.value?.regions[0] ?? ''),
    name: useSignal(''),
  }
  const isSending = useSignal(false)
  const refusal = useSignal<unknown>(null)
  const close = () => {
    dialog.value = null
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isSending.value) return
    isSending.value = true
    refusal.value = null
    try {
      await asks.create(bodyOf(draft))
      close()
    } catch (error) {
      refusal.value = error
    } finally {
      isSending.value = false
    }
  }
  return (
    <Modal title="New worker" onClose={close}>
      <form class="modal-body" onSubmit={submit}>
        <TemplateField templates={templates} chosen={draft.template} />
        <RegionField regions={state.info.value?.regions ?? []} chosen={draft.region} />
        <NameField name={draft.name} />
        {refusal.value !== null && <RefusalOf error={refusal.value} />}
        <footer class="modal-foot">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="button primary" disabled={draft.template.value === ''}>
            {isSending.value ? 'Asking…' : 'Create worker'}
          </button>
        </footer>
      </form>
    </Modal>
  )
}

/** What was left empty is for the server to choose. */
const bodyOf = ({ template, region, name }: Draft) => ({
  template_name: template.value,
  ...(region.value === '' ? {} : { aws_region: region.value }),
  ...(name.value.trim() === '' ? {} : { name: name.value.trim() }),
})

const RefusalOf = ({ error }: { error: unknown }) => (
  <Refusal>
    {failureText(error)}
    {error instanceof ApiError && error.problem.errors && (
      <ul>
        {error.problem.errors.map(each => (
          <li key={each.path}>
            <code>{each.path}</code> {each.message}
          </li>
        ))}
      </ul>
    )}
  </Refusal>
)

function TemplateField({ templates, chosen }: { templates: WorkerTemplate[]; chosen: Signal<string> }) {
  if (templates.length === 0)
    return <p class="muted">There is no template yet. Add one first: a worker is made from it.</p>
  return (
    <fieldset class="field">
      <legend>Template</legend>
      <div class="choices">
        {templates.map(template => (
          <TemplateChoice key={template.id} template={template} chosen={chosen} />
        ))}
      </div>
    </fieldset>
  )
}

function TemplateChoice({ template, chosen }: { template: WorkerTemplate; chosen: Signal<string> }) {
  const { capacity } = template
  return (
    <label class={`choice ${template.enabled ? '' : 'off'}`}>
      <input
        type="radio"
        name="template"
        checked={chosen.value === template.name}
        disabled={!template.enabled}
        onChange={() => {
          chosen.value = template.name
        }}
      />
      <span class="choice-name">{template.name}</span>
      <span class="choice-price number">
        {template.enabled ? `${usdText(template.cost_per_hour_usd)}/h` : 'disabled'}
      </span>
      <span class="choice-text">
        {template.description && <>{template.description} · </>}
        {template.instance_types[0]} · {capacity.cpu_cores} vCPU · {capacity.memory_gb} GB
      </span>
    </label>
  )
}

const RegionField = ({ regions, chosen }: { regions: readonly string[]; chosen: Signal<string> }) => (
  <label class="field">
    <span>Region</span>
    <select
      value={chosen}
      onChange={event => {
        chosen.value = event.currentTarget.value
      }}
    >
      {regions.length === 0 && <option value="">the server's default</option>}
      {regions.map(region => (
        <option key={region} value={region}>
          {region}
        </option>
      ))}
    </select>
  </label>
)

const NameField = ({ name }: { name: Signal<string> }) => (
  <label class="field">
    <span>
      Name <span class="muted">optional</span>
    </span>
    <input
      type="text"
      maxLength={128}
      autocomplete="off"
      spellcheck={false}
      placeholder="chosen for you"
      value={name}
      onInput={event => {
        name.value = event.currentTarget.value
      }}
    />
  </label>
)
