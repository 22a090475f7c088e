import { type SettingName, SettingValues } from '@lcm/domain/fleet/settings'
import { parseVariant } from '@lcm/domain/forecast/variant'
import type { WorkerTemplate } from '@lcm/domain/template/worker-template'
import { usdText } from '@lcm/domain/text/format-amounts'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { SelectField, TextField } from '../../parts/dialog/fields.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { type Asked, forecastHash } from './forecast-hash.ts'
import type { Compared, Forecasts } from './use-forecasts.ts'

interface VariantsProps {
  readonly forecasts: Forecasts
  readonly asked: Asked
  readonly templates: readonly WorkerTemplate[]
}

/** Settings that change a forecast. */
const CHANGES: readonly Change[] = [
  'template',
  'idle_action',
  'idle_timeout_seconds',
  'min_workers',
  'max_workers_per_region',
  'scale_up_enabled',
  'boot_lead_minutes',
]
type Change = SettingName | 'template'

export function VariantsCard({ forecasts, asked, templates }: VariantsProps) {
  const { forecast, compared } = forecasts
  return (
    <section class="card" aria-labelledby="variants-title">
      <h2 id="variants-title">What other settings would cost</h2>
      <ScrollBox label="Table of variants">
        <table class="variants">
          <thead>
            <tr>
              <th scope="col">Change</th>
              <th scope="col">Cost</th>
              <th scope="col">Difference</th>
              <th scope="col">Machines</th>
              <th scope="col">Late or waiting</th>
              <th scope="col">
                <span class="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            <VariantRow text={null} compared={{ forecast }} forecasts={forecasts} asked={asked} />
            {asked.variants.map(text => (
              <VariantRow key={text} text={text} compared={compared.get(text)} forecasts={forecasts} asked={asked} />
            ))}
          </tbody>
        </table>
      </ScrollBox>
      <AddVariant asked={asked} templates={templates} />
      <p class="muted small-print">
        Nothing is changed: each line is the same forecast with that setting. With a template, only its machines are
        bought. Change settings on the page Settings.
      </p>
    </section>
  )
}

interface RowProps {
  /** Null for what is set now. */
  readonly text: string | null
  /** Missing while it is computed. */
  readonly compared: Compared | undefined
  readonly forecasts: Forecasts
  readonly asked: Asked
}

function VariantRow({ text, compared, forecasts, asked }: RowProps) {
  return (
    <tr>
      <th scope="row">{text === null ? 'As set now' : <code>{text}</code>}</th>
      {compared === undefined ? (
        <td colSpan={4} class="muted">
          Computing…
        </td>
      ) : 'problem' in compared ? (
        <td colSpan={4}>{compared.problem}</td>
      ) : (
        <Amounts {...compared} before={text === null ? null : forecasts.forecast} />
      )}
      <td>{text !== null && <RemoveButton text={text} asked={asked} />}</td>
    </tr>
  )
}

interface AmountsProps {
  readonly forecast: Forecasts['forecast']
  readonly before: Forecasts['forecast'] | null
}

function Amounts({ forecast: { totals, late, unplaced, machines_peak }, before }: AmountsProps) {
  const difference = before === null ? 0 : totals.usd - before.totals.usd
  const problems = [
    ...(late.length > 0 ? [`${late.length} late`] : []),
    ...(unplaced.length > 0 ? [`${unplaced.length} waiting`] : []),
  ]
  return (
    <>
      <td class="number">{usdText(totals.usd)}</td>
      <td class={`number ${difference < 0 ? 'cheaper' : ''}`}>{before === null ? '' : differenceText(difference)}</td>
      <td class="number">
        {totals.hours.toFixed(1)} h, at most {machines_peak?.machines ?? 0}
      </td>
      <td>{problems.length === 0 ? 'none' : problems.join(', ')}</td>
    </>
  )
}

const differenceText = (usd: number): string => `${usd < 0 ? '−' : '+'}${usdText(Math.abs(usd))}`

function RemoveButton({ text, asked }: { text: string; asked: Asked }) {
  const { router } = useConsole()
  const variants = asked.variants.filter(each => each !== text)
  return (
    <button type="button" class="button small" onClick={() => router.replace(forecastHash({ ...asked, variants }))}>
      Remove<span class="sr-only"> {text}</span>
    </button>
  )
}

function AddVariant({ asked, templates }: Pick<VariantsProps, 'asked' | 'templates'>) {
  const { router } = useConsole()
  const change = useSignal<Change>(templates.length > 1 ? 'template' : 'idle_action')
  const value = useSignal('')
  const problem = useSignal<string | null>(null)
  const names = templates.map(({ name }) => name)
  const choices = choicesFor(change.value, names)
  useEffect(() => {
    value.value = choicesFor(change.value, names)?.[0] ?? ''
  }, [change.value, names.join()])
  const add = (event: Event) => {
    event.preventDefault()
    const text = `${change.value}=${value.value.trim()}`
    const parsed = parseVariant(text, names)
    problem.value = 'problem' in parsed ? parsed.problem : null
    if (problem.value !== null) return
    router.replace(forecastHash({ ...asked, variants: [...new Set([...asked.variants, text])] }))
  }
  return (
    <form class="add-variant" onSubmit={add}>
      <SelectField label="Setting" chosen={change} options={CHANGES} />
      {choices === null ? (
        <TextField label="Value" value={value} maxLength={60} />
      ) : (
        <SelectField label="Value" chosen={value} options={choices} />
      )}
      <button type="submit" class="button">
        Compare
      </button>
      {problem.value !== null && (
        <p class="refusal tone-red" role="alert">
          {problem.value}
        </p>
      )}
    </form>
  )
}

/** Null if the value is typed. */
function choicesFor(change: Change, templates: readonly string[]): readonly string[] | null {
  if (change === 'template') return templates
  const schema = SettingValues.shape[change]
  if (schema.type === 'boolean') return ['true', 'false']
  return schema.type === 'enum' ? schema.options : null
}
