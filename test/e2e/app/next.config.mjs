/** @type {import('next').NextConfig} */
export default { serverExternalPackages: ['millrace'], devIndicators: false };
