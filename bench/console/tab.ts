import type { Browser, CDPSession } from 'playwright-core'
import { TOKEN } from '../api/server-processes.ts'

/**
 * A tab without a network debugger, like that of a user. A tab of Playwright keeps the body of every response in memory, which is
 * 50 MB for ten thousand workers and grows with each event.
 */
export interface Tab {
  /** A command of the DevTools protocol. */
  send<T>(method: string, params?: object): Promise<T>
  /** Value of an expression, once it is settled. */
  evaluate<T>(expression: string): Promise<T>
  close(): Promise<void>
}

/** Records the start of each frame, by the clock of the page. */
const FRAMES = `
  window.frameStarts = []
  const note = now => { window.frameStarts.push(now); requestAnimationFrame(note) }
  requestAnimationFrame(note)
`
const [WIDTH, HEIGHT] = [1440, 900]

/** A tab with an empty profile that Playwright does not control. */
export async function newTab(browser: Browser): Promise<Tab> {
  const session = await browser.newBrowserCDPSession()
  const { browserContextId } = await session.send('Target.createBrowserContext')
  const size = { width: WIDTH, height: HEIGHT }
  const { targetId } = await session.send('Target.createTarget', { url: 'about:blank', browserContextId, ...size })
  const { sessionId } = await session.send('Target.attachToTarget', { targetId, flatten: false })
  const send = sender(session, sessionId)
  await send('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor: 1, mobile: false })
  await send('Emulation.setLocaleOverride', { locale: 'en-US' })
  // Needed for the header; a buffer of one byte keeps no body.
  await send('Network.enable', { maxTotalBufferSize: 1, maxResourceBufferSize: 1 })
  await send('Network.setExtraHTTPHeaders', { headers: { authorization: `Bearer ${TOKEN}` } })
  await send('Page.enable')
  await send('Page.addScriptToEvaluateOnNewDocument', { source: FRAMES })
  return {
    send,
    async evaluate<T>(expression: string) {
      const params = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
      const { result, exceptionDetails } = await send<Evaluated<T>>('Runtime.evaluate', params)
      if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`)
      return result.value
    },
    async close() {
      await session.send('Target.disposeBrowserContext', { browserContextId })
      await session.detach()
    },
  }
}

interface Evaluated<T> {
  readonly result: { readonly value: T }
  readonly exceptionDetails?: object
}

interface Answer {
  readonly id?: number
  readonly result?: unknown
  readonly error?: object
}

function sender(session: CDPSession, sessionId: string): Tab['send'] {
  const waiting = new Map<number, (answer: Answer) => void>()
  let sent = 0
  session.on('Target.receivedMessageFromTarget', ({ message }) => {
    const answer: Answer = JSON.parse(message)
    if (answer.id === undefined) return
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  return async <T>(method: string, params: object = {}) => {
    sent += 1
    const id = sent
    const answered = new Promise<Answer>(done => waiting.set(id, done))
    await session.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method, params }) })
    const { result, error } = await answered
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result as T
  }
}

/** Opens a URL and waits for the selector. */
export async function show(tab: Tab, url: string, selector: string): Promise<void> {
  await tab.send('Page.navigate', { url })
  await tab.evaluate(`new Promise(done => {
    const check = () => document.querySelector(${JSON.stringify(selector)}) ? done() : requestAnimationFrame(check)
    check()
  })`)
}
