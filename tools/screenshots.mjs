// `npm run screenshots`: pictures of the console for the docs, of a small fleet on the simulated cloud.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { fillFleet, until } from './demo/fill-fleet.mjs'
import { inventPast } from './demo/invent-past.mjs'
import { ensureChromium } from './programs/chromium.mjs'
import { ensureReady, root } from './setup.mjs'

const IMAGES = join(root, 'docs', 'images')
const VIEWPORT = { width: 1440, height: 900 }
const KB_MAX = 300
/** Pages with a picture in both color schemes. */
const IN_THE_DARK = new Set(['overview', 'worker', 'sessions'])
/** Slow enough that a machine that boots is still seen to. */
const SPEED = '120'
const REDRAW_MS = 500
const DAY_MS = 86_400_000
/** Days from now, hour and seats of booked classes. */
const CLASSES = [
  [1, 9, 20],
  [1, 13, 12],
  [2, 9, 200],
  [2, 10, 10],
  [3, 14, 25],
]

await ensureReady()
const executablePath = await ensureChromium()
const data = mkdtempSync(join(tmpdir(), 'lcm-screenshots-'))
const { child, link } = await startProduct()
const url = new URL(link).origin
const token = readFileSync(join(data, 'admin-token'), 'utf8').trim()
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
try {
  mkdirSync(IMAGES, { recursive: true })
  const { api, shown } = await fillFleet(url, token)
  await takeAll(api, shown)
} finally {
  await browser.close()
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
  rmSync(data, { recursive: true, force: true })
}

async function startProduct() {
  const args = [join(root, 'dist', 'lcm.mjs'), 'up', '--data', data, '--port', '0', '--sim-port', '0', '--speed', SPEED]
  const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  const found = await new Promise((resolve, reject) => {
    started.stdout.setEncoding('utf8').on('data', text => {
      output += text
      const address = /(http:\/\/\S+\/#\/sign-in\?code=\S+)/.exec(output)?.[1]
      if (address !== undefined) resolve(address)
    })
    started.on('exit', code => reject(new Error(`lcm up ended with ${code}: ${output}`)))
  })
  return { child: started, link: found }
}

async function takeAll(api, shown) {
  const { items } = await api('GET', '/lablet-definitions')
  const { items: sessions } = await api('GET', '/lablet-sessions')
  const running = sessions.find(({ definition, status }) => definition.name === 'campus' && status !== 'PENDING')
  const definition = items.find(({ name }) => name === 'campus')
  const page = await signedInPage()
  await api('POST', '/workers', { name: 'metal-new', template_name: 'metal', aws_region: 'us-east-1' })
  const pictures = [
    { name: 'overview', at: 'overview', ready: '.today-bar, .today a' },
    { name: 'workers', at: 'workers', ready: '.worker-row' },
    { name: 'worker', at: `workers/${shown}`, ready: '.uplot' },
    { name: 'sessions', at: 'sessions', ready: '.bar' },
    { name: 'session', at: `sessions/${running.id}`, ready: 'main h2' },
    { name: 'definition', at: `definitions/${definition.id}`, ready: 'main svg' },
    { name: 'controllers', at: 'controllers', ready: 'main h2' },
  ]
  for (const picture of pictures) await take(page, picture)
  await bookClasses(api)
  await take(page, { name: 'forecast', at: 'forecast', ready: '.plan-legend', fullPage: true })
  await takeDialogs(page)
  await stir(page)
  await take(page, { name: 'chaos', at: 'chaos', ready: '.machines tr' })
}

async function signedInPage() {
  const settings = { viewport: VIEWPORT, deviceScaleFactor: 1, reducedMotion: 'reduce', locale: 'en-US' }
  const context = await browser.newContext(settings)
  await inventPast(context)
  await context.request.post(`${url}/login`, { data: { token }, headers: { origin: url } })
  return context.newPage()
}

/** Classes of the next days, as many as the workers and their licenses hold. */
async function bookClasses(api) {
  for (const [days, hour, seats] of CLASSES)
    await api('POST', '/lablet-sessions/batch', { definition: 'two-routers', start: startOf(days, hour), seats })
}

function startOf(days, hour) {
  const [day] = new Date(Date.now() + days * DAY_MS).toISOString().split('T')
  return `${day}T${String(hour).padStart(2, '0')}:00:00.000Z`
}

/** A booking that is refused with the nearest times, and a change that would take promised capacity. */
async function takeDialogs(page) {
  const dialog = page.getByRole('dialog')
  await page.goto(`${url}/#/sessions`)
  await page.getByRole('button', { name: 'Book a session' }).click()
  await dialog.getByLabel('Definition').selectOption({ label: await classLabel(dialog) })
  await dialog.getByLabel('Later').check()
  await dialog.locator('input[type=datetime-local]').fill(startOf(2, 9).slice(0, 16))
  await dialog.getByLabel(/^Seats/).fill('180')
  await dialog.locator('.preview-starts').waitFor()
  await shoot(page, 'booking-refused')
  await page.goto(`${url}/#/settings`)
  const setting = page.locator('.setting', { hasText: 'max_workers_per_region' })
  await setting.getByRole('button', { name: 'Edit' }).click()
  await setting.getByRole('textbox').fill('0')
  await setting.getByRole('button', { name: 'Save' }).click()
  await dialog.locator('.capacity-loss').waitFor()
  await shoot(page, 'capacity-loss')
}

async function classLabel(dialog) {
  const labels = await dialog.getByLabel('Definition').locator('option').allTextContents()
  return labels.find(text => text.startsWith('two-routers'))
}

async function take(page, { name, at, ready, fullPage = false }) {
  await page.goto(`${url}/#/${at}`)
  await page.locator(ready).first().waitFor()
  await until(`the picture of ${name}`, () =>
    page
      .locator('[aria-busy=true]')
      .count()
      .then(count => count === 0),
  )
  await page.waitForLoadState('networkidle', { timeout: 1_000 }).catch(() => undefined)
  await shoot(page, name, fullPage)
}

async function shoot(page, name, fullPage = false) {
  for (const colorScheme of IN_THE_DARK.has(name) ? ['light', 'dark'] : ['light']) {
    await page.emulateMedia({ colorScheme })
    // Charts are redrawn in the new colors after the next frame.
    await page.waitForTimeout(REDRAW_MS)
    const path = join(IMAGES, `${name}${colorScheme === 'dark' ? '-dark' : ''}.png`)
    await page.screenshot({ path, fullPage, animations: 'disabled' })
    const kb = Math.ceil(statSync(path).size / 1024)
    if (kb > KB_MAX) throw new Error(`${path} has ${kb} KB, and ${KB_MAX} are enough`)
    console.log(`${path} ${kb} KB`)
  }
}

/** Stops one machine in EC2 and cuts off the CML of another: the chaos page shows the recovery. */
async function stir(page) {
  await page.goto(`${url}/#/chaos`)
  await page.getByRole('button', { name: 'Stop metal-1' }).click()
  await page.getByRole('button', { name: 'CML of classroom-a' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cut the network' }).click()
  await page
    .locator('.machines tr', { hasText: 'metal-1' })
    .getByRole('button', { name: 'Refresh now' })
    .first()
    .click()
  await page.locator('.feed .feed-line:not(.user-action)').first().waitFor()
}
