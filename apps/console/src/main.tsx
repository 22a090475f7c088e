import './no-eval.ts'

import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { assert } from '@lcm/domain/assert'
import { signal } from '@preact/signals'
import { options, render } from 'preact'
import { asksOf } from './asks.ts'
import { browserClock, ticking } from './browser-clock.ts'
import { liveState } from './live-state.ts'
import { noticeBoard } from './notices.ts'
import { App } from './parts/app.tsx'
import { ConsoleContext, type ConsoleParts, type OpenDialog } from './parts/wiring.ts'
import { hashRouter } from './router.ts'
import { liveStream } from './stream.ts'
import { themeChoice } from './theme.ts'

// A burst of events becomes one rendering per frame, and none at all in a hidden tab.
options.debounceRendering = requestAnimationFrame

const transport = httpTransport({ baseUrl: location.origin, clock: browserClock })
const state = liveState()
const stream = liveStream({ transport, clock: browserClock, state })
const notices = noticeBoard(browserClock)
const parts: ConsoleParts = {
  state,
  stream,
  notices,
  asks: asksOf({ client: apiClient(transport), workers: state.workers, notices }),
  router: hashRouter(window),
  themeChoice: themeChoice(document.documentElement, () => localStorage),
  dialog: signal<OpenDialog | null>(null),
  nowMs: ticking(browserClock),
  async logOut() {
    const { ok } = await fetch('/logout', { method: 'POST' }).catch(() => ({ ok: false }))
    if (ok) location.reload()
    else notices.tell('refused', 'You are still signed in', 'LCM does not answer')
  },
}

const root = document.getElementById('console')
assert(root, 'index.html has no #console')
render(
  <ConsoleContext.Provider value={parts}>
    <App />
  </ConsoleContext.Provider>,
  root,
)

window.addEventListener('online', stream.retryNow)
stream.run(new AbortController().signal)
