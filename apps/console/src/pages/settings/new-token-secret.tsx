import type { AnswerOf } from '@lcm/contract/routes'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useConsole } from '../../parts/console-context.ts'
import { copyText } from '../../parts/copy-to-clipboard.ts'
import { NamedIcon } from '../../parts/icons.tsx'
import { failureText } from '../../state/failure-text.ts'

/** The API returns the secret only once, so it stays visible until the user dismisses it. */
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
      notices.show('refused', 'Could not copy. Select the text instead.', failureText(error))
    }
  }
  return (
    <div class="new-secret" role="status">
      <p>
        Token <strong>{token.name}</strong> created. Copy its secret now. It won't be shown again.
      </p>
      <code>{token.secret}</code>
      <p class="new-secret-buttons">
        <button ref={button} type="button" class="button small primary" onClick={copy}>
          <NamedIcon name={isCopied.value ? 'check' : 'copy'} />
          {isCopied.value ? 'Copied' : 'Copy secret'}
        </button>
        <button type="button" class="button small" onClick={onDone}>
          Done
        </button>
      </p>
    </div>
  )
}
