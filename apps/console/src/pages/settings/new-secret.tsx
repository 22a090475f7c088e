import type { AnswerOf } from '@lcm/contract/routes'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { NamedIcon } from '../../parts/icons.tsx'
import { copyText } from '../../state/copy-text.ts'
import { failureText } from '../../state/error-text.ts'

/** The only time that the secret is ever shown: it stays until whoever made it says that they have it. */
export function NewSecret({ token, onDone }: { token: AnswerOf<'createToken'>; onDone: () => void }) {
  const { notices } = useConsole()
  const button = useRef<HTMLButtonElement>(null)
  const isCopied = useSignal(false)
  useEffect(() => button.current?.focus(), [])
  const copy = async () => {
    try {
      await copyText(token.secret)
      isCopied.value = true
    } catch (error) {
      notices.show('refused', 'Could not copy, so select it by hand', failureText(error))
    }
  }
  return (
    <div class="new-secret" role="status">
      <p>
        <strong>{token.name}</strong> is made. Copy its secret now: it is shown this once.
      </p>
      <code>{token.secret}</code>
      <p class="new-secret-buttons">
        <button ref={button} type="button" class="button small primary" onClick={copy}>
          <NamedIcon name={isCopied.value ? 'check' : 'copy'} />
          {isCopied.value ? 'Copied' : 'Copy secret'}
        </button>
        <button type="button" class="button small" onClick={onDone}>
          I have it
        </button>
      </p>
    </div>
  )
}
