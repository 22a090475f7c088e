/** NODE_OPTIONS that preload modules before a service, each with its parameters. */
export function preloadEnv(preloads: Readonly<Record<string, Readonly<Record<string, string>>>>): {
  readonly NODE_OPTIONS: string
} {
  const urls = Object.entries(preloads).map(([file, knowledge]) => {
    const url = new URL(file, import.meta.url)
    for (const [name, value] of Object.entries(knowledge)) url.searchParams.set(name, value)
    return url.href
  })
  return { NODE_OPTIONS: urls.map(url => `--import ${url}`).join(' ') }
}
