/** What a run tells whoever watches it. */
export interface Terminal {
  /** Takes the place of the last progress line; nothing where nobody watches. */
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
