import type { Keys } from '../command-dependencies.ts'

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const ENDS = ['\r', '\n', CTRL_D]
const BACKSPACES = ['\u0008', '\u007f']

export const isInterrupt = (text: string): boolean => text.includes(CTRL_C)

/** Reads keys in raw mode: without echo, and with Ctrl-C as an ordinary key. */
export const keysOf =
  (stdin: NodeJS.ReadStream): Keys =>
  pressed => {
    const onData = (chunk: Buffer | string) => pressed(String(chunk))
    stdin.setRawMode(true)
    stdin.on('data', onData)
    stdin.ref()
    stdin.resume()
    return () => {
      stdin.off('data', onData)
      stdin.setRawMode(false)
      stdin.pause()
      stdin.unref()
    }
  }

/** Reads a line without echo; null on Ctrl-C or abort. */
export function secretLine(keys: Keys, signal: AbortSignal): Promise<string | null> {
  return new Promise(resolve => {
    let line = ''
    const end = (secret: string | null) => {
      stop()
      signal.removeEventListener('abort', leave)
      resolve(secret)
    }
    const leave = () => end(null)
    const stop = keys(text => {
      for (const key of text) {
        if (isInterrupt(key)) return end(null)
        if (ENDS.includes(key)) return end(line)
        line = BACKSPACES.includes(key) ? line.slice(0, -1) : line + key
      }
    })
    signal.addEventListener('abort', leave)
    if (signal.aborted) leave()
  })
}
