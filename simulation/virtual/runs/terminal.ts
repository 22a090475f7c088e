/** Output of a run to the terminal. */
export interface Terminal {
  /** Replaces the last progress line; nothing unless stderr is a terminal. */
  progress(text: string): void
  print(text: string): void
  cpuSeconds(): number
}

export function openTerminal(): Terminal {
  const { stderr } = process
  const startedUs = usedUs()
  const erase = () => (stderr.isTTY ? '\r\u001b[K' : '')
  return {
    progress(text) {
      if (stderr.isTTY) stderr.write(`${erase()}${text}`)
    },
    print: text => void stderr.write(`${erase()}${text}\n`),
    cpuSeconds: () => (usedUs() - startedUs) / 1e6,
  }
}

const usedUs = (): number => {
  const { user, system } = process.cpuUsage()
  return user + system
}
