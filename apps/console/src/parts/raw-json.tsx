import { useSignal } from '@preact/signals'
import { failureText } from '../wording.ts'
import { NamedIcon } from './icons.tsx'
import { useConsole } from './wiring.ts'

/** Exactly what the API answers, for those who want to see everything. */
export function RawJson({ value }: { value: object }) {
  const { notices } = useConsole()
  const isOpen = useSignal(false)
  const text = isOpen.value ? JSON.stringify(value, null, 2) : ''
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      notices.tell('done', 'Copied')
    } catch (error) {
      notices.tell('refused', 'Could not copy', failureText(error))
    }
  }
  return (
    <details
      class="card raw"
      onToggle={event => {
        isOpen.value = event.currentTarget.open
      }}
    >
      <summary>Raw JSON</summary>
      <button type="button" class="button small" onClick={copy}>
        <NamedIcon name="copy" />
        Copy
      </button>
      <pre>{text}</pre>
    </details>
  )
}
