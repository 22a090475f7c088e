import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

interface TextFieldProps {
  readonly label: ComponentChildren
  /** What is said of it more quietly. */
  readonly note?: string
  readonly value: Signal<string>
  /** Whether what is typed is not shown. */
  readonly isSecret?: boolean
  readonly maxLength?: number
  readonly placeholder?: string
  readonly inputmode?: 'numeric'
}

/** A line of text in a form. */
export const TextField = ({ label, note, value, isSecret = false, ...more }: TextFieldProps) => (
  <label class="field">
    <span>
      {label}
      {note !== undefined && <span class="muted"> {note}</span>}
    </span>
    <input
      {...(isSecret ? { type: 'password' } : { type: 'text' })}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      {...more}
      value={value}
      onInput={event => {
        value.value = event.currentTarget.value
      }}
    />
  </label>
)

interface SelectFieldProps {
  readonly label: string
  readonly chosen: Signal<string>
  readonly options: readonly string[]
  /** What is shown if there is nothing to choose from. */
  readonly none?: string
}

export const SelectField = ({ label, chosen, options, none }: SelectFieldProps) => (
  <label class="field">
    <span>{label}</span>
    <select
      value={chosen}
      onChange={event => {
        chosen.value = event.currentTarget.value
      }}
    >
      {options.length === 0 && none !== undefined && <option value="">{none}</option>}
      {options.map(option => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  </label>
)
