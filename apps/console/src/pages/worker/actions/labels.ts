/** Labels as people type them: `name=value`, one a line. */
export const labelsText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')

/** The lines that are no labels are told, so that nothing is lost in silence. */
export function labelsOf(text: string): { labels: Record<string, string>; wrong: string[] } {
  const lines = text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  const wrong = lines.filter(line => line.indexOf('=') < 1)
  const pairs = lines.filter(line => !wrong.includes(line)).map(line => [nameOf(line), textOf(line)] as const)
  return { labels: Object.fromEntries(pairs), wrong }
}

const nameOf = (line: string): string => line.slice(0, line.indexOf('=')).trim()
const textOf = (line: string): string => line.slice(line.indexOf('=') + 1).trim()
