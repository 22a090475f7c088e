const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })

export const usdText = (amount: number): string => dollars.format(amount)
