import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { failureText } from '../state/failure-text.ts'
import { useConsole } from './console-context.ts'
import { copyText } from './copy-to-clipboard.ts'
import { NamedIcon } from './icons.tsx'

interface ShownOnceProps {
  readonly secret: string
  /** Such as `Copy secret`. */
  readonly verb: string
  readonly onDone: () => void
  /** What it is, and that it is shown once. */
  readonly children: ComponentChildren
}

/** The API returns the secret only once, so it stays visible until the user dismisses it. */
export function ShownOnce({ secret, verb, onDone, children }: ShownOnceProps) {
  const { notices } = useConsole()
  const button = useRef<HTMLButtonElement>(null)
  const isCopied = useSignal(false)
  useEffect(() => button.current?.focus(), [])
  const copy = async () => {
    try {
      await copyText(secret)
      isCopied.value = true
    } catch (error) {
      notices.show('refused', 'Could not copy. Select the text instead.', failureText(error))
    }
  }
  return (
    <div class="shown-once" role="status">
      <p>{children}</p>
      <code>{secret}</code>
      <p class="shown-once-buttons">
        <button ref={button} type="button" class="button small primary" onClick={copy}>
          <NamedIcon name={isCopied.value ? 'check' : 'copy'} />
          {isCopied.value ? 'Copied' : verb}
        </button>
        <button type="button" class="button small" onClick={onDone}>
          Done
        </button>
      </p>
    </div>
  )
}
