import { it } from 'vitest'
import { browserTests, DESKTOP, PHONE, screenshot } from './testing/browser.ts'
import { CAMPUS, TWO_ROUTERS } from './testing/labs.ts'

const { open, api } = browserTests()
it('looks', async () => {
  for (const name of ['bgp-basics', 'campus-core'])
    await api().call('createDefinition', {
      body: {
        name,
        topology: name === 'bgp-basics' ? TWO_ROUTERS : CAMPUS,
        title: name === 'bgp-basics' ? 'BGP basics' : 'Campus with two cores',
      },
    })
  await api().call('createDefinition', { body: { name: 'from-afar', source: 'file:missing.yaml' } })
  const d = (await api().call('listDefinitions', {})).items.find(x => x.name === 'bgp-basics')
  await api().call('putDefinition', {
    params: { id: d?.id ?? '' },
    body: { topology: TWO_ROUTERS, title: 'BGP basics, again' },
  })
  for (let i = 0; i < 3; i++) await api().call('createSession', { body: { definition: 'bgp-basics' } })
  const { page } = await open({ at: '#/chaos' })
  await page.getByRole('button', { name: /^hostile/ }).click()
  await page.getByText('of reads show the past').waitFor()
  await page.getByRole('button', { name: /^Stop/ }).first().click()
  await page.getByText("behind LCM's back", { exact: false }).first().waitFor()
  await page.waitForTimeout(6000)
  for (const name of ['chaos', 'labs', 'definitions', 'controllers']) {
    await page.goto(`${new URL(page.url()).origin}/#/${name}`)
    await page.locator('main h1').waitFor()
    await page.waitForTimeout(2500)
    for (const [device, viewport] of [
      ['desktop', DESKTOP],
      ['phone', PHONE],
    ] as const)
      for (const theme of ['light', 'dark'] as const) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme: theme })
        await page.waitForTimeout(200)
        await page.screenshot({
          path: `.cache/screenshots/c4-${name}-${device}-${theme}.png`,
          fullPage: device === 'phone',
        })
      }
    await page.setViewportSize(DESKTOP)
  }
  await screenshot(page, 'x')
})
