import type { BodyInput } from '@lcm/contract/routes'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { usdText } from '@lcm/domain/text/format-amounts'
import { type Signal, useSignal } from '@preact/signals'
import { useConsole } from '../../../parts/console-context.ts'
import { SelectField, TextField } from '../../../parts/dialog/fields.tsx'
import { FormDialog } from '../../../parts/dialog/form-dialog.tsx'

interface Draft {
  readonly template: Signal<string>
  readonly region: Signal<string>
  readonly name: Signal<string>
}

export function CreateDialog() {
  const { state, requests } = useConsole()
  const templates = [...state.live.template.all().values()].toSorted((a, b) => a.name.localeCompare(b.name))
  const draft: Draft = {
    template: useSignal(templates.find(template => template.enabled)?.name ?? ''),
    region: useSignal(state.info.value?.regions[0] ?? ''),
    name: useSignal(''),
  }
  const create = () => {
    const body = bodyOf(draft)
    return requests.create('worker', body.name ?? body.template_name, client => client.call('createWorker', { body }))
  }
  return (
    <FormDialog title="Create worker" verb="Create worker" isComplete={draft.template.value !== ''} send={create}>
      <TemplateField templates={templates} chosen={draft.template} />
      <SelectField
        label="Region"
        chosen={draft.region}
        options={state.info.value?.regions ?? []}
        none="server default"
      />
      <TextField label="Name" note="optional" value={draft.name} maxLength={128} placeholder="generated" />
    </FormDialog>
  )
}

/** The server chooses values for empty fields. */
const bodyOf = ({ template, region, name }: Draft): BodyInput<'createWorker'> => ({
  template_name: template.value,
  ...(region.value === '' ? {} : { aws_region: region.value }),
  ...(name.value.trim() === '' ? {} : { name: name.value.trim() }),
})

function TemplateField({ templates, chosen }: { templates: WorkerTemplate[]; chosen: Signal<string> }) {
  if (templates.length === 0)
    return <p class="muted">There are no templates yet. Create a template first: every worker is created from one.</p>
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
