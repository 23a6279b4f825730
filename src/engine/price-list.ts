/** The price list that this package depends on, and the day of its release; a newer list comes with a newer errand. */
export const priceList = { name: '@pydantic/genai-prices', version: '0.1.8', releasedOn: '2026-09-23' } as const
